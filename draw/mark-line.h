/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A line of marks beside columns of time: "+----v" goes from the begin of a stall to the incident
 * that reports it, and * is the requested moment.
 */

#include "base/bytes.h"
#include "draw/terminal.h"

struct mark {
	/* The time of the incident on the wall clock. */
	uint64_t time_ns;
	/* The begin of the stall that the incident reports; 0: unknown. */
	uint64_t stall_ns;
	const char *what;
};

struct mark_line {
	const struct mark *marks;
	size_t count;
	/* The requested moment, or 0. */
	uint64_t at_ns;
	/* The begin of the first cell and the end of the last. */
	uint64_t from_ns, to_ns;
	unsigned int cells;
	/* Number of columns of a cell. */
	unsigned int cell_width;
};

/* Tells whether there is anything to mark. */
bool mark_line_needed(const struct mark_line *line);
/* Puts the marks, without a newline. */
void mark_line_put(const struct mark_line *line, const struct terminal *terminal,
		   struct buffer *text);

/* Puts a line for each of the first `shown` marks, and the number of the others. */
void mark_list_put(const struct mark *marks, size_t count, size_t shown, bool utc,
		   const struct terminal *terminal, struct buffer *text);
