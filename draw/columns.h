/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A table whose rows fit the terminal. A column is as wide as its widest cell, with two blanks to
 * the next. While rows are too wide, columns change one after the other, in the order of their
 * turns, until the rows fit. Numbers are never truncated. A remark stands behind its row, or
 * wrapped below it. A zeroed struct with columns is an empty table.
 */

#include "base/array.h"
#include "base/bytes.h"
#include "draw/terminal.h"

/* The change of a column if rows are too wide. */
enum columns_yield {
	COLUMNS_STAYS,
	/* The column shows the brief texts of its cells. */
	COLUMNS_SHORTENS,
	/* The column becomes narrower; ".." replaces the middle of its texts. */
	COLUMNS_SHRINKS,
	COLUMNS_LEAVES,
};

struct columns_column {
	/* If all titles are "", the table has no head. */
	const char *title;
	/* Aligned to the right, as numbers are. */
	bool right;
	enum columns_yield yield;
	/* 1 is the first turn; 0 if the column never changes. */
	unsigned int turn;
	/* The least width of a column that shrinks. */
	unsigned int least;
	/* The cells of the column have the style of their row. */
	bool styled;
};

#define COLUMNS_MAX 12

struct columns {
	const struct columns_column *list;
	/* At most COLUMNS_MAX. */
	size_t count;
	/* The title of remarks, or NULL. */
	const char *remark_title;
	size_t rows;
	/*
	 * The texts, each with a NUL, and the offset of each text: two texts for each cell, then
	 * the remark of the row.
	 */
	struct buffer texts;
	array_of(size_t) starts;
	/* The style of each row. */
	array_of(enum terminal_style) styles;
};

void columns_done(struct columns *columns);
/*
 * Adds a cell to the row. `brief` is the text in a column that shows brief texts; NULL: the same
 * text.
 */
void columns_add_brief(struct columns *columns, const char *text, const char *brief);
void columns_add(struct columns *columns, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Ends a row after a cell for each column. The remark may be NULL or "". */
void columns_end_row(struct columns *columns, const char *remark);
/* Sets the style of the last row. */
void columns_style_row(struct columns *columns, enum terminal_style style);
/* Puts the table, or nothing if it has no rows. Marks `to` as failed if memory ran out. */
void columns_put(const struct columns *columns, const struct terminal *terminal, struct buffer *to);
