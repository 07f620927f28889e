// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ask/ask-rows.h"

#include <assert.h>
#include <math.h>

#include "base/cleanup.h"
#include "fleet/row-binary.h"

void ask_rows_done(struct ask_rows *rows)
{
	array_done(&rows->cells);
	buffer_done(&rows->texts);
	*rows = (struct ask_rows){ 0 };
}

/* Reads a text to the end of all texts. The cell has its offset until all texts are there. */
static void ask_rows_read_text(struct reader *bytes, struct ask_rows *rows, struct ask_cell *cell)
{
	uint64_t size = reader_varint(bytes);
	const void *text = size <= reader_left(bytes) ? reader_take(bytes, size) : NULL;

	cell->number = rows->texts.size;
	if (text)
		buffer_bytes(&rows->texts, text, size);
	else if (size)
		reader_fail(bytes);
	buffer_u8(&rows->texts, 0);
}

static int ask_rows_read_cell(struct reader *bytes, char type, struct ask_rows *rows)
{
	struct ask_cell cell = { .text = "" };

	switch (type) {
	case 't':
		ask_rows_read_text(bytes, rows, &cell);
		break;
	case 'n':
		cell.number = reader_u64(bytes);
		break;
	default:
		assert(type == 'r');
		cell.real = row_double(bytes);
		/* a division by nothing */
		if (!isfinite(cell.real))
			cell.real = 0;
	}
	return array_push(&rows->cells, cell);
}

static void ask_rows_point(struct ask_rows *rows, const char *types)
{
	for (size_t i = 0; i < rows->cells.count; i++) {
		struct ask_cell *cell = &rows->cells.items[i];

		if (types[i % rows->columns] != 't')
			continue;
		cell->text = (const char *)rows->texts.data + cell->number;
		cell->number = 0;
	}
}

int ask_rows_read(const void *bytes, size_t size, const char *types, struct ask_rows *ret_rows,
		  struct error *error)
{
	_cleanup_(ask_rows_done) struct ask_rows rows = { .columns = strlen(types) };
	struct reader reader;
	int r = 0;

	assert(rows.columns && rows.columns <= ASK_COLUMNS_MAX);
	reader_init(&reader, bytes, size);
	while (r == 0 && reader_left(&reader)) {
		for (size_t i = 0; r == 0 && i < rows.columns; i++)
			r = ask_rows_read_cell(&reader, types[i], &rows);
		rows.count++;
		if (reader_failed(&reader))
			return error_set(error, -EBADMSG, "the server's answer is damaged: row %zu",
					 rows.count);
		if (rows.cells.count > ASK_CELLS_MAX)
			return error_set(
				error, -EFBIG,
				"the server's answer is too long; ask for a shorter window");
	}
	if (r < 0 || buffer_failed(&rows.texts))
		return -ENOMEM;
	ask_rows_point(&rows, types);
	*ret_rows = rows;
	rows = (struct ask_rows){ 0 };
	return 0;
}

int ask_rows(struct server *server, const char *sql, const struct sql_value *values, size_t count,
	     const char *types, struct ask_rows *ret_rows, struct error *error)
{
	_cleanup_(buffer_done) struct buffer filled = { 0 }, answer = { 0 };
	int r = sql_fill(sql, values, count, &filled);

	buffer_u8(&filled, 0);
	if (r < 0 || buffer_failed(&filled))
		return r < 0 ? r : -ENOMEM;
	r = server_run(server, (const char *)filled.data, false, &answer, error);
	return r < 0 ? r : ask_rows_read(answer.data, answer.size, types, ret_rows, error);
}
