/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Draws CPU time as a grid that is no higher than the terminal. Rows are fractions of a second or
 * CPUs.
 *
 * With fractions, a cell shows how many CPUs were busy; the first fraction of the second is at the
 * bottom. With CPUs, a cell shows how busy the CPU was, and what took most of that time. A
 * saturated CPU is a solid line, even in a row of several CPUs.
 */

#include "draw/mark-line.h"
#include "draw/terminal.h"
#include "query/sums/heat.h"

struct heat_picture {
	const struct heat *heat;
	/* Lines of any length that describe the window. */
	const char *head;
	/* Sorted by time. */
	const struct mark *marks;
	size_t mark_count;
	/* The requested moment, or 0. */
	uint64_t at_ns;
	bool utc;
	/* The number of lines that the caller prints below the grid. */
	unsigned int lines_below;
};

/*
 * heat_columns_max() returns the number of columns that fit. heat_fractions() returns the number of
 * fractions of a second to read; heat_draw() merges fractions until they fit.
 */
uint32_t heat_columns_max(const struct terminal *terminal, enum heat_rows by);
uint32_t heat_fractions(void);

void heat_draw(const struct heat_picture *picture, const struct terminal *terminal,
	       struct buffer *text);
