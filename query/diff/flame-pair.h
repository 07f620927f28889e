/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The stacks of two windows as one tree, for a differential flame graph. A frame's width is the sum
 * of both sides, so that what vanished is as wide as what appeared, and callers are as wide as all
 * their callees. Each side is scaled to the same length of time, or to the same sum.
 */

#include "query/sums/flame.h"
#include "query/sums/folded.h"

/* One of the two windows. */
struct flame_side {
	/* folded with `kinds`, weighted by samples */
	const struct folded *folded;
	/* the width of one sample; both sides have the same unit */
	double width;
};

/* The width that stands for one CPU, or for all samples of a side. */
#define FLAME_PAIR_UNIT 1000000

struct flame_pair {
	struct folded *folded;
	/* the widths of the earlier side, indexed by line */
	array_of(uint64_t) earlier;
};

/* Returns 0 or -ENOMEM. The pair needs neither side afterwards. */
int flame_pair_make(const struct flame_side *before, const struct flame_side *after,
		    struct flame_pair *ret_pair);
void flame_pair_done(struct flame_pair *pair);
