/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the frame of a tape for an address, with the tracker's present mappings. */

#include "recorder/perf/perf-record.h"
#include "recorder/build/lru-cache.h"
#include "recorder/procs/accounts.h"
#include "recorder/procs/tracker.h"
#include "tape/tape.h"

struct frame_table {
	struct tracker *tracker;
	/* Borrowed; set by frame_table_start(). */
	struct tape *tape;
	/*
	 * The number of a module in the tape + 1, by its number in the tracker; 0: not in the tape
	 * yet.
	 */
	array_of(uint32_t) module;
	/* The generation of the tracker's numbers for which `module` is valid. */
	uint64_t generation;
	/*
	 * The account of `accounts` that pays for the paths of new modules. Without `accounts`,
	 * nobody pays. Set by the caller.
	 */
	struct accounts *accounts;
	uint64_t account;
	/* Do not add a long path if the account is empty; the frame becomes TAPE_CUT. */
	bool may_cut;
	/* frame_table_find() did so. */
	bool cut;
	/* Frames that were found recently. */
	struct lru_cache addresses;
};

/* Prepares the table. The tracker must outlive it. Returns 0 or -ENOMEM. */
int frame_table_init(struct frame_table *table, struct tracker *tracker);
void frame_table_done(struct frame_table *table);
/* Empties the table and uses this tape from now on. */
void frame_table_start(struct frame_table *table, struct tape *tape);

/* Prefetches the cache entry of an address that will be looked up soon. `process` may be NULL. */
void frame_table_prefetch(const struct frame_table *table, const struct tracker_process *process,
			  enum perf_cpu_mode mode, uint64_t address);
/*
 * Finds the frame of an address, and adds it to the tape if it is new. An address without a mapping
 * becomes frame 0. `process` may be NULL. An address in the new program ends the exec of the
 * process. Returns 0 or -ENOMEM.
 */
int frame_table_find(struct frame_table *table, struct tracker_process *process, int32_t pid,
		     enum perf_cpu_mode mode, uint64_t address, uint32_t *ret_frame);
