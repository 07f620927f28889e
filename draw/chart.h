/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Figures over time, a line each: the least, the mean, the most, and a small plot. */

#include "base/bytes.h"
#include "draw/terminal.h"

struct chart_row {
	const char *name;
	/* behind each number; "" for none; "s" becomes minutes, hours and days */
	const char *unit;
	/* NAN: there is none */
	double least, mean, most;
	/* of the plot; NAN: nothing is known of that time */
	const double *cells;
	/* what fills a cell */
	double full;
	/* `most` is how many there were in all; the two others are nothing */
	bool is_count;
};

struct chart {
	const struct chart_row *rows;
	size_t count;
	unsigned int cells;
	/* The first one's begin and the last one's end, which stand below the plots if there is
	 * room; the same: they do not. */
	uint64_t from_ns, to_ns;
	bool utc;
};

/* How many cells a plot has room for. */
unsigned int chart_cells(const struct terminal *terminal);
void chart_draw(const struct chart *chart, const struct terminal *terminal, struct buffer *text);
