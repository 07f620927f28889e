// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the rows of a server's answer. The first byte chooses the types of the
 * columns. Each cell of a whole answer must have its text within the texts, and a finite number.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "fleet/ask/ask-rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cell(const struct ask_rows *rows, const struct ask_cell *cell, char type)
{
	const char *texts = (const char *)rows->texts.data;

	if (!isfinite(cell->real))
		abort();
	if (type == 't' &&
	    (cell->text < texts || cell->text + strlen(cell->text) >= texts + rows->texts.size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = { "t", "n", "r", "tn", "tnr", "ttnnrr", "tttttttttttt" };
	_cleanup_(ask_rows_done) struct ask_rows rows = { 0 };
	struct error error = { 0 };
	const char *columns;

	if (!size)
		return 0;
	columns = types[data[0] % ARRAY_SIZE(types)];
	if (ask_rows_read(data + 1, size - 1, columns, &rows, &error) < 0)
		return 0;
	if (rows.cells.count != rows.count * rows.columns)
		abort();
	for (size_t i = 0; i < rows.cells.count; i++)
		check_cell(&rows, &rows.cells.items[i], columns[i % rows.columns]);
	return 0;
}
