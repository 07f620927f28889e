/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The coverage of segments according to the index, for answers that do not read samples. */

#include "query/coverage/coverage.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/* Returns the time from the first segment's begin to the last one's end; empty without segments. */
struct window recorded_window(const struct store_segments *segments);

/* Selects the CPUs whose losses are reported. Reading the losses opens each segment. */
struct recorded_losses {
	const struct cpu_set_filter *cpus;
	/*
	 * The caller knows everything but the losses of a segment from elsewhere. So a segment that
	 * cannot be opened any more counts as damaged, but leaves no gap.
	 */
	bool known;
};

/*
 * Computes the coverage of segments of the store that overlap the window. Reports all their losses,
 * or only the number of lost samples if `losses` is NULL. The caller frees the gaps, also after a
 * failure. Returns 0 or a negative errno.
 */
int recorded_cover(struct store_reader *reader, const struct store_segments *segments,
		   const struct window *window, const struct recorded_losses *losses,
		   struct coverage *coverage, struct error *error);

/*
 * Returns the largest error of the wall clock within a tape. Considers all of the tape's time,
 * because the times of the samples are not decoded.
 */
uint64_t recorded_clock_error(const struct tape *tape);
