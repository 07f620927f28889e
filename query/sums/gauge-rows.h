/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The steps of a window's gauges, added up to a row each, with cells of equal length over the
 * window; and what single CPUs have, also to a row of all CPUs.
 */

#include "base/intern.h"
#include "query/read/series.h"

struct gauge_rows_row {
	/* without its unit; of all CPUs "cpu*" and a kind */
	char *name;
	enum series_unit unit;
	/* of one CPU */
	bool of_cpu;
	/* of all CPUs: each counts as much as the others */
	bool of_all;
	double least, mean, most;
	/* of a count: all that it grew by in readings that reach into the window */
	double times;
	/* NAN: nothing is known of that time */
	double *cells;
	/* while steps are added */
	/* series_most() */
	double limit;
	/* the last reading, */
	double figure;
	uint64_t read_ns,
		/* when it was, and how long after the one before; 0: there was none */
		every_ns;
	double weight_s;
	double *weights;
};

/* Zeroed but for the first two, to begin with. */
struct gauge_rows {
	struct window window;
	unsigned int cells;
	array_of(struct gauge_rows_row) rows;
	/* one more than the highest number */
	uint64_t cpus;
	/* by series, + 1 */
	array_of(uint32_t) row_of;
	/* a row of all CPUs, by the kind's number */
	array_of(uint32_t) group_of;
	struct strings kinds;
};

void gauge_rows_done(struct gauge_rows *figures);
/* Adds a step that has a figure. 0 or -ENOMEM. */
int gauge_rows_add(struct gauge_rows *figures, const struct series_step *step);
/* Sorts the rows by their names, numbers by their size, and makes means of sums. */
void gauge_rows_finish(struct gauge_rows *figures);
