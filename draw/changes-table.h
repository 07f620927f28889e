/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Draws the changes between two windows as tables, one for each kind of row. */

#include "draw/terminal.h"
#include "query/diff/changes.h"

struct changes_screen {
	/* Lines of any length that describe the two windows. */
	const char *head;
	/* The tables, in this order. */
	const struct changes *list;
	size_t count;
	/* The number of lines that the caller prints below the screen. */
	unsigned int lines_below;
	/* The number of rows of each table; 0: as many as the terminal has lines for. */
	size_t rows;
};

/*
 * Draws each table: the change and both loads in per cent of one CPU, and the change of the part of
 * the busy time in percentage points. A mark shows that a row stands out. If `rows` is 0, draws at
 * most as many lines as the terminal has, with one left for the prompt; each table has at least one
 * row. Without a terminal, a table has at most 20 rows.
 */
void changes_table_draw(const struct changes_screen *screen, const struct terminal *terminal,
			struct buffer *text);
