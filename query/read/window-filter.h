/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Selects the samples of one tape that lie in a window and pass a filter. */

#include <stdint.h>

#include "query/coverage/coverage.h"
#include "query/window/filter.h"
#include "query/window/window.h"
#include "tape/tape.h"

/*
 * The wall clock times of the selected samples. If the filter removes frames, also what the CPU of
 * each sample did (enum stack_class_kind), determined from all frames.
 */
struct window_filter_times {
	array_of(uint64_t) list;
	/* NULL: the remaining frames still show what the CPU did */
	uint8_t *kinds;
};

void window_filter_times_done(struct window_filter_times *times);

/*
 * Reduces the tape's samples to those that lie in the window and pass the filter. Sorts them by the
 * wall clock, because their order on the perf clock differs if the wall clock was set. Raises
 * *error_ns to the largest error of their times. ret_times may be NULL. Returns 0 or -ENOMEM.
 */
int window_filter_samples(struct tape *tape, const struct window *window,
			  const struct filter *filter, uint64_t *error_ns,
			  struct window_filter_times *ret_times);

/*
 * Adds to the coverage how many frames the tape's samples have, and why frames have no name.
 * Returns 0 or -ENOMEM.
 */
int window_filter_count_samples(const struct tape *tape, struct coverage *coverage);
