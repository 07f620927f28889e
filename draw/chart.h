/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Draws gauges over time. Each gauge has a line with its least, mean and greatest value and a small
 * plot.
 */

#include "base/bytes.h"
#include "draw/terminal.h"

struct chart_row {
	const char *name;
	/*
	 * Printed behind each number; "": none. For "s", the chart converts to minutes, hours and
	 * days.
	 */
	const char *unit;
	/* NAN: unknown. */
	double least, mean, most;
	/* The values of the plot; NAN: not recorded at that time. */
	const double *cells;
	/* The value that fills a cell to the top. */
	double full;
	/* `most` is the count of events; `least` and `mean` are unused. */
	bool is_count;
};

struct chart {
	const struct chart_row *rows;
	size_t count;
	unsigned int cells;
	/*
	 * The begin of the first cell and the end of the last. An axis below the plots shows these
	 * times if they fit. If they are equal, there is no axis.
	 */
	uint64_t from_ns, to_ns;
	bool utc;
};

/* Returns the number of cells that fit into a plot. */
unsigned int chart_cells(const struct terminal *terminal);
void chart_draw(const struct chart *chart, const struct terminal *terminal, struct buffer *text);
