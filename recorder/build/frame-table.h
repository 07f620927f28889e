/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The frames of a tape by their addresses: what the tracker knows of an address at this moment. */

#include "recorder/perf/perf-record.h"
#include "recorder/build/lru-cache.h"
#include "recorder/procs/tracker.h"
#include "tape/tape.h"

struct frames {
	struct tracker *tracker;
	struct tape *tape; /* borrowed; set with frames_start() */
	array_of(uint32_t) module; /* of the tracker's modules: their number in the tape + 1 */
	uint64_t generation; /* of those modules' numbers */
	struct recent addresses; /* what was looked up lately */
};

/* The tracker must outlive the frames. 0 or -ENOMEM. */
int frames_init(struct frames *frames, struct tracker *tracker);
void frames_done(struct frames *frames);
/* From now on of this tape. */
void frames_start(struct frames *frames, struct tape *tape);

/* An address is to be found soon: where no cache has what is known of it, that is asked for. process may be NULL. */
void frames_soon(const struct frames *frames, const struct tracker_process *process,
	enum perf_cpu_mode mode, uint64_t address);
/*
 * 0 or -ENOMEM. An address that lies in no mapping keeps its place in the stack and loses itself: frame 0. process may be NULL. One that
 * is in the middle of an exec may turn out to be through with it.
 */
int frames_find(struct frames *frames, struct tracker_process *process, int32_t pid,
	enum perf_cpu_mode mode, uint64_t address, uint32_t *ret_frame);
