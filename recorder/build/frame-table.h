/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The frames of a tape by their addresses: what the tracker knows of an address at this moment. */

#include "recorder/perf/perf-record.h"
#include "recorder/build/lru-cache.h"
#include "recorder/procs/tracker.h"
#include "tape/tape.h"

struct frame_table {
	struct tracker *tracker;
	/* borrowed; set with frame_table_start() */
	struct tape *tape;
	/* of the tracker's modules: their number in the tape + 1 */
	array_of(uint32_t) module;
	/* of those modules' numbers */
	uint64_t generation;
	/* what was looked up lately */
	struct lru_cache addresses;
};

/* The tracker must outlive the frames. 0 or -ENOMEM. */
int frame_table_init(struct frame_table *frames, struct tracker *tracker);
void frame_table_done(struct frame_table *frames);
/* From now on of this tape. */
void frame_table_start(struct frame_table *frames, struct tape *tape);

/* An address is to be found soon: where no cache has what is known of it, that is asked for.
 * process may be NULL. */
void frame_table_prefetch(const struct frame_table *frames, const struct tracker_process *process,
			  enum perf_cpu_mode mode, uint64_t address);
/*
 * 0 or -ENOMEM. An address that lies in no mapping keeps its place in the stack and loses itself:
 * frame 0. process may be NULL. One that is in the middle of an exec may turn out to be through
 * with it.
 */
int frame_table_find(struct frame_table *frames, struct tracker_process *process, int32_t pid,
		     enum perf_cpu_mode mode, uint64_t address, uint32_t *ret_frame);
