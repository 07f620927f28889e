/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The steps of a window's gauges as rows. A row has a summary of the gauge and cells of equal
 * length over the window. For gauges of single CPUs, an additional row sums up all CPUs.
 */

#include "base/intern.h"
#include "query/read/series.h"

struct gauge_rows_row {
	/* the gauge's name without the suffix of its unit; for all CPUs "cpu*" and the kind */
	char *name;
	enum series_unit unit;
	/* a gauge of one CPU */
	bool of_cpu;
	/* the common row of all CPUs, in which each CPU has the same weight */
	bool of_all;
	double least, mean, most;
	/* for a count: the growth over all steps that overlap the window */
	double times;
	/* NAN: nothing is known about the time of the cell */
	double *cells;
	/*
	 * gauge_usual_compare() sets the usual value (NAN: unknown), and the change against it: the
	 * logarithm of a ratio
	 */
	double usual, change;
	/* The recorded time of the row, in seconds. */
	double weight_s;
	/* The members below are used only while steps are added. */
	/* series_max() */
	double limit;
	/* the value of the last reading */
	double figure;
	/*
	 * the time of the last reading, and its distance from the reading before; 0: no such
	 * reading
	 */
	uint64_t read_ns, every_ns;
	double *weights;
};

/* Set the first two members and zero the rest before use. */
struct gauge_rows {
	struct window window;
	unsigned int cells;
	array_of(struct gauge_rows_row) rows;
	/* one more than the highest CPU number */
	uint64_t cpus;
	/* index of the gauge's row + 1, indexed by the gauge's number */
	array_of(uint32_t) row_of;
	/* index of the common row + 1, indexed by the number of the kind */
	array_of(uint32_t) group_of;
	struct strings kinds;
};

void gauge_rows_done(struct gauge_rows *gauges);
/* Adds a step that has a figure. Returns 0 or -ENOMEM. */
int gauge_rows_add(struct gauge_rows *gauges, const struct series_step *step);
/* Sorts the rows by name (numbers by value) and turns sums into means. */
void gauge_rows_finish(struct gauge_rows *gauges);
