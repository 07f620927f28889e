/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Which rows differ between incidents and controls? A matched permutation test: a set is the window
 * of one incident and those of its controls. Without any cause, each window of a set could as well
 * be the incident's.
 *
 * A row is elevated in a window if its value reaches a level. The test tries several levels of each
 * row. The score of a level says how much more often incidents reach it than all windows of their
 * sets do. It is a logarithm of a likelihood ratio. The p-value of a row is the share of
 * permutations whose highest score over all rows and levels is at least the row's. So it allows for
 * the number of rows and levels, and rows may depend on each other in any way.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct contrast_input {
	size_t rows, sets;
	/*
	 * sets + 1 numbers: the windows of a set are firsts[set] to firsts[set + 1] - 1; the first
	 * of them is the incident's
	 */
	const uint32_t *firsts;
	/* by row, then by window; not NAN */
	const float *values;
	/* for each row: the least level that counts */
	const float *least;
	/* for each row: low values count, too */
	const bool *both;
	/* for each set: whether it is left out; NULL: no set is */
	const bool *left_out;
	/* 0: no p-values, which are then 1 */
	unsigned int permutations;
};

struct contrast_row {
	/* the level with the highest score; incidents and controls that reach it */
	float level;
	unsigned int cases, controls;
	/* low values reach the level */
	bool below;
	/* 0: no level has more incidents than expected */
	double score, p;
};

/* Judges all rows. Returns 0 or -ENOMEM. */
int contrast_judge(const struct contrast_input *input, struct contrast_row *ret_rows);

/* Returns whether a window of a row reaches its level. */
static inline bool contrast_reaches(const struct contrast_row *row, float value)
{
	return row->below ? value <= row->level : value >= row->level;
}
