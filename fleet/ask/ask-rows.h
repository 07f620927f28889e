/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Asks the server of a fleet, and holds its answer as rows. The bytes come from outside: lengths
 * are checked, and a longer answer than a question can have is refused.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "fleet/server.h"
#include "fleet/sql-text.h"

#define ASK_COLUMNS_MAX 12
/* 192 MB of them. */
#define ASK_CELLS_MAX (8u << 20)

struct ask_cell {
	/* "" for a number. */
	const char *text;
	uint64_t number;
	double real;
};

struct ask_rows {
	size_t columns;
	/* The rows one after the other. */
	array_of(struct ask_cell) cells;
	size_t count;
	struct buffer texts;
};
void ask_rows_done(struct ask_rows *rows);

/*
 * Decodes an answer in the format RowBinary. `types` has a letter for each column: t is a text, n a
 * UInt64, r a Float64. Returns 0 or -ENOMEM; or, with a text, -EBADMSG, or -EFBIG beyond
 * ASK_CELLS_MAX.
 */
int ask_rows_read(const void *bytes, size_t size, const char *types, struct ask_rows *ret_rows,
		  struct error *error);

/* Fills the statement with the values (fleet/sql-text.h), runs it and reads its answer. */
int ask_rows(struct server *server, const char *sql, const struct sql_value *values, size_t count,
	     const char *types, struct ask_rows *ret_rows, struct error *error);

static inline const struct ask_cell *ask_row(const struct ask_rows *rows, size_t row)
{
	return &rows->cells.items[row * rows->columns];
}
