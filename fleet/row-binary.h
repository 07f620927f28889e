/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * ClickHouse's format RowBinary: the values of a row one after the other, numbers little-endian,
 * texts and arrays behind their length as LEB128. Write numbers with buffer_u32() and the like.
 */

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

static inline void row_put_text(struct buffer *rows, const char *text)
{
	size_t size = strlen(text);

	buffer_varint(rows, size);
	buffer_bytes(rows, text, size);
}

static inline void row_put_double(struct buffer *rows, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	buffer_u64(rows, bits);
}

static inline double row_double(struct reader *rows)
{
	uint64_t bits = reader_u64(rows);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * Reads a text into `scratch`, with a NUL at its end; a NUL in the text ends it, too. Returns the
 * text, which is "" if the reader fails. Valid until the next call with the same scratch.
 */
static inline const char *row_text(struct reader *rows, struct buffer *scratch)
{
	uint64_t size = reader_varint(rows);
	const void *text = size <= reader_left(rows) ? reader_take(rows, size) : NULL;

	scratch->size = 0;
	if (text)
		buffer_bytes(scratch, text, size);
	else if (size)
		reader_fail(rows);
	buffer_u8(scratch, 0);
	return scratch->failed ? "" : (const char *)scratch->data;
}

/*
 * Reads the length of an array whose items have at least `item_size` bytes. A length that the rest
 * cannot hold fails the reader and is 0.
 */
static inline uint64_t row_array(struct reader *rows, size_t item_size)
{
	uint64_t count = reader_varint(rows);

	if (count <= reader_left(rows) / item_size)
		return count;
	reader_fail(rows);
	return 0;
}
