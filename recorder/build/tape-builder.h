/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds samples to a tape, with their threads and frames, by the tracker's present names and
 * mappings. All samples pass through this file.
 */

#include "recorder/build/callchain-cache.h"
#include "recorder/perf/perf-record.h"
#include "recorder/procs/accounts.h"
#include "recorder/procs/cgroup-counts.h"
#include "recorder/procs/tracker.h"
#include "tape/tape.h"

struct tape_builder {
	struct tracker *tracker;
	/* Borrowed; set by tape_builder_start(). */
	struct tape *tape;
	struct callchain_cache callchains;
	/*
	 * Rows that each owner of cgroups may add to tapes, if tape_builder_limit() was called.
	 */
	struct accounts detail;
	/* The callchains that were cut because a cgroup added too many rows. */
	struct cgroup_counts cut;
};

/* Prepares the builder. The tracker must outlive it. Returns 0 or -ENOMEM. */
int tape_builder_init(struct tape_builder *builder, struct tracker *tracker);
void tape_builder_done(struct tape_builder *builder);
/* Fills this tape from now on. The budgets of the cgroups stay as they are. */
void tape_builder_start(struct tape_builder *builder, struct tape *tape);
/*
 * Bounds the rows that each cgroup may add, from the next tape on. `samples` is the expected number
 * of samples per second. Call this function about once per second, because it also renews the
 * budgets; `seconds` is the time since the last call.
 */
void tape_builder_limit(struct tape_builder *builder, uint64_t samples, uint64_t seconds);
/*
 * Prefetches the memory that tape_builder_add() will read for a SAMPLE record. The caller adds
 * records in the order of their prefetches.
 */
void tape_builder_prefetch(struct tape_builder *builder, const struct perf_record *record,
			   struct chain *ret_chain);
/*
 * Adds a SAMPLE record. `prefetched` may be NULL. Returns 0; 1 if its callchain was truncated,
 * which the caller counts; -ENOMEM.
 */
int tape_builder_add(struct tape_builder *builder, const struct perf_record *record,
		     const struct chain *prefetched);
/*
 * Finds the tape's row for the thread of a record, and adds it if it is new. Returns 0 or -ENOMEM.
 */
int tape_builder_add_thread(struct tape_builder *builder, const struct perf_record *record,
			    uint32_t *ret_row);
