/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Could a row stand out by chance? A permutation test over whole windows: if the window in question
 * were like the quiet windows, each of them would have the most unusual row equally often. Samples
 * within a window may depend on each other in any way.
 *
 * The score of a row in a window is its distance from the row's mean over all windows, in standard
 * deviations of the row. `floor` is added to the deviation, so that rows of little time never
 * score. The p-value of a row is the share of windows, the one in question included, whose highest
 * score over all rows is at least the row's score. It therefore allows for all rows that were
 * tried: with p <= 0.05, at most one in twenty windows without any cause has such a row.
 */

#include <stddef.h>

#include "query/explain/evidence.h"

struct chance_input {
	size_t rows;
	/* the first window is the one in question */
	size_t windows;
	/* by row, then by window */
	const double *values;
	double floor;
};

/* Sets the chance of each row. Returns 0 or -ENOMEM. */
int chance_judge(const struct chance_input *input, struct evidence_chance *ret_chances);

/* Returns the p-value of a result that `as_much` of `windows` quiet windows reach. */
double chance_of_rank(unsigned int windows, unsigned int as_much);
