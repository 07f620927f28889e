/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The steps of a window's gauges, added up to a row each, with cells of equal length over the window; and what single CPUs have, also to a row of
 * all CPUs.
 */

#include "base/intern.h"
#include "query/read/series.h"

struct gauge_rows_row {
	char *name; /* without its unit; of all CPUs "cpu*" and a kind */
	enum series_unit unit;
	bool of_cpu; /* of one CPU */
	bool of_all; /* of all CPUs: each counts as much as the others */
	double least, mean, most;
	double times; /* of a count: all that it grew by in readings that reach into the window */
	double *cells; /* NAN: nothing is known of that time */
	/* while steps are added */
	double limit; /* series_most() */
	double figure; /* the last reading, */
	uint64_t read_ns,
		every_ns; /* when it was, and how long after the one before; 0: there was none */
	double weight_s;
	double *weights;
};

/* Zeroed but for the first two, to begin with. */
struct gauge_rows {
	struct window window;
	unsigned int cells;
	array_of(struct gauge_rows_row) rows;
	uint64_t cpus; /* one more than the highest number */
	array_of(uint32_t) row_of; /* by series, + 1 */
	array_of(uint32_t) group_of; /* a row of all CPUs, by the kind's number */
	struct strings kinds;
};

void gauge_rows_done(struct gauge_rows *figures);
/* Adds a step that has a figure. 0 or -ENOMEM. */
int gauge_rows_add(struct gauge_rows *figures, const struct series_step *step);
/* Sorts the rows by their names, numbers by their size, and makes means of sums. */
void gauge_rows_finish(struct gauge_rows *figures);
