/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Draws gauges over time. Each gauge has a line with its least, mean, greatest and usual value and
 * a small plot. Incidents and the requested moment stand above the plots, the time below them.
 */

#include "base/bytes.h"
#include "draw/mark-line.h"
#include "draw/terminal.h"

struct chart_row {
	const char *name;
	/*
	 * Printed behind each number; "": none. For "s", the chart converts to minutes, hours and
	 * days.
	 */
	const char *unit;
	/* NAN: unknown. */
	double least, mean, most, usual;
	/* The values of the plot; NAN: not recorded at that time. */
	const double *cells;
	/* The value that fills a cell to the top. */
	double full;
	/* `mean` is the number of events; `least` and `most` are unused. */
	bool is_count;
	/* The row stands out and has a mark, which says whether it is below its usual value. */
	bool unusual, below;
	/* The colour of the plot. */
	enum terminal_style style;
};

struct chart {
	const struct chart_row *rows;
	size_t count;
	unsigned int cells;
	/*
	 * The begin of the first cell and the end of the last. An axis below the plots shows these
	 * times if they fit. If both times are equal, the chart has no axis.
	 */
	uint64_t from_ns, to_ns;
	bool utc;
	/* Sorted by time. */
	const struct mark *marks;
	size_t mark_count;
	/* The requested moment, or 0. */
	uint64_t at_ns;
	/*
	 * The number of lines that the whole chart may take; 0: no limit. The chart omits its last
	 * rows, but shows at least three.
	 */
	unsigned int lines;
};

/* Returns the number of cells that fit into a plot. */
unsigned int chart_cells(const struct terminal *terminal);
/* Draws the chart. Returns the number of rows that it shows. */
size_t chart_draw(const struct chart *chart, const struct terminal *terminal, struct buffer *text);
