/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What of one tape's samples lies in a window and passes a filter. */

#include <stdint.h>

#include "query/coverage/coverage.h"
#include "query/window/filter.h"
#include "query/window/window.h"
#include "tape/tape.h"

/* Of the wall clock, one for each sample that was left; and where frames were taken away, what its
 * CPU did (enum load_kind), by all of them. */
struct window_filter_times {
	array_of(uint64_t) list;
	/* NULL: the frames tell */
	uint8_t *kinds;
};

void window_filter_times_done(struct window_filter_times *times);

/*
 * Leaves of the tape's samples those that lie in the window and pass, in the order of the wall
 * clock: where that was set back, not in that of the perf clock. *error_ns is raised to how far
 * their times may be off; ret_times may be NULL. 0 or -ENOMEM.
 */
int window_filter_samples(struct tape *tape, const struct window *window,
			  const struct filter *filter, uint64_t *error_ns,
			  struct window_filter_times *ret_times);

/* Counts the frames, and those with a name, of the tape's samples. 0 or -ENOMEM. */
int window_filter_count_samples(const struct tape *tape, struct coverage *coverage);
