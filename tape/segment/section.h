/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The bytes of a section: columns one after the other, each packed by itself. So a reader can take
 * them as streams, and similar numbers are adjacent.
 *
 * A column is a varint raw size, a varint stored size, and the stored bytes. If both sizes are
 * equal, the bytes are not packed. Otherwise they are one zstd frame.
 */

#include "base/bytes.h"
#include "base/cleanup.h"
#include "pack/zstd.h"

/*
 * A column may unpack to at most COLUMN_RAW_FREE bytes plus COLUMN_RAW_RATIO times its stored
 * bytes, so that a false size cannot claim memory. The writer does not pack a column that would
 * exceed this limit. Real samples do not reach that ratio.
 */
#define COLUMN_RAW_FREE (1u << 20)
#define COLUMN_RAW_RATIO 1024

/* The planes of a column of numbers: one column for each byte of a number. */
#define PLANES 4

struct section_writer {
	/* NULL: pack nothing. */
	struct zstd_packer *packer;
	struct buffer *to;
	/* The begin of the section in `to`. */
	size_t start;
	uint64_t raw_bytes;
};

/* Packs and appends a column. Returns 0, or -ENOMEM, also if the column's own buffer failed. */
int section_put(struct section_writer *writer, const struct buffer *column);
/* Appends four columns, the least significant bytes first. A column of zeros is empty. */
int section_put_planes(struct section_writer *writer, const uint32_t *numbers, size_t count);

/*
 * Reads a section: each take returns the next column. Columns are valid until
 * section_reader_done().
 */
#define SECTION_COLUMNS_MAX 32

struct section_reader {
	struct zstd_unpacker *unpacker;
	struct reader stored;
	/* The unpacked bytes so far, and the number that the table of contents states. */
	uint64_t raw_bytes, raw_limit;
	void *owned[SECTION_COLUMNS_MAX];
	size_t owned_count;
};

void section_reader_done(struct section_reader *section);
/* Takes the next column. Returns 0, -EBADMSG or -ENOMEM. */
int section_take(struct section_reader *section, struct reader *ret_column);

/* Skips the next column without unpacking it. Returns 0 or -EBADMSG. */
int section_skip(struct section_reader *section);

struct planes {
	/* NULL: zeros. */
	const uint8_t *bytes[PLANES];
	size_t count;
};

/* Takes four columns of exactly `count` numbers. */
int section_take_planes(struct section_reader *section, size_t count, struct planes *ret_planes);

static inline uint32_t planes_at(const struct planes *planes, size_t at)
{
	uint32_t number = 0;

	for (unsigned int i = 0; i < PLANES; i++)
		if (planes->bytes[i])
			number |= (uint32_t)planes->bytes[i][at] << (8 * i);
	return number;
}

/*
 * Reads a number of rows. Each row takes at least one byte of the rest of `rows`, so a larger count
 * fails the column.
 */
int column_count(struct reader *column, const struct reader *rows, size_t *ret_count);

/* Reads a row number. A number that is not below `count` fails the column. */
static inline uint32_t column_row(struct reader *column, size_t count)
{
	uint64_t row = reader_varint(column);

	if (row < count)
		return row;
	reader_fail(column);
	return 0;
}
