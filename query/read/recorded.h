/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What segments cover by their own words, for answers that look at none of their samples. */

#include "query/coverage/coverage.h"
#include "query/window/window.h"
#include "store/read/store-reader.h"

/* From the first one's begin to the last one's end; empty where there are none. */
struct window recorded_window(const struct store_segments *segments);

/* Whose losses are told, for which each segment is opened. */
struct recorded_losses {
	const struct cpu_set_filter *cpus;
	/* what else is asked of a segment is known also where it cannot be opened any more: it is
	 * damaged, and no gap */
	bool known;
};

/*
 * Those of the store that overlap the window: how many samples they lost, or all of their losses;
 * NULL: not these. The gaps are the caller's, also on failure. 0 or a negative errno.
 */
int recorded_cover(struct store_reader *reader, const struct store_segments *segments,
		   const struct window *window, const struct recorded_losses *losses,
		   struct coverage *coverage, struct error *error);

/* How far off the wall clock may be in a tape, of all its samples at the most: which moments they
 * are of is not known, as they are not decoded. */
uint64_t recorded_clock_error(const struct tape *tape);
