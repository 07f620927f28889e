// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fields of a stored incident. Decoded fields must be the same after encoding and decoding them
 * again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "incidents/patterns/field-rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done) struct buffer names = { 0 }, more = { 0 }, rows = { 0 };
	_cleanup_free_ char *text = strndup((const char *)data, size);
	struct fields fields, again;

	assert(field_rows_read(text, &names, &fields) == 0);
	assert(fields.count <= FIELDS_MAX);
	field_rows_write(&fields, &rows);
	assert(!buffer_failed(&rows) && rows.data[rows.size - 1] == 0);
	assert(field_rows_read((const char *)rows.data, &more, &again) == 0);
	assert(again.count == fields.count);
	for (size_t i = 0; i < fields.count; i++) {
		assert(!strcmp(again.list[i].name, fields.list[i].name));
		assert(again.list[i].size == fields.list[i].size);
		assert(!memcmp(again.list[i].value, fields.list[i].value, fields.list[i].size));
		assert(again.list[i].number == fields.list[i].number);
	}
	return 0;
}
