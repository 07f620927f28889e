/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The bytes of one section: columns one behind the other, each packed on its own, so that a reader
 * takes them as streams and numbers of one kind lie together.
 *
 * A column is varint raw size, varint stored size, and the stored bytes: as they are where both
 * sizes are the same, else one zstd frame.
 */

#include "base/bytes.h"
#include "base/cleanup.h"
#include "pack/zstd.h"

/*
 * What a few bytes may unpack to: memory must not follow a claim. A column that packs better than
 * that is kept as it is; of real samples there is none.
 */
#define COLUMN_RAW_FREE (1u << 20)
#define COLUMN_RAW_RATIO 1024

/* What numbers are in columns of: a byte of each, then the next byte of each. */
#define PLANES 4

struct section_writer {
	/* NULL: pack nothing */
	struct zstd_packer *packer;
	struct buffer *to;
	/* of the section in there */
	size_t start;
	uint64_t raw_bytes;
};

/* 0, -ENOMEM (also when the column's own buffer failed). */
int section_put(struct section_writer *writer, const struct buffer *column);
/* Four columns, the least bytes first; one of zeros only is empty. */
int section_put_planes(struct section_writer *writer, const uint32_t *numbers, size_t count);

/* Reading: each take is the next column. What it gives lives until the reader is done. */
#define SECTION_COLUMNS_MAX 24

struct section_reader {
	struct zstd_unpacker *unpacker;
	struct reader stored;
	/* so far */
	uint64_t raw_bytes;
	void *owned[SECTION_COLUMNS_MAX];
	size_t owned_count;
};

void section_reader_done(struct section_reader *section);
/* 0, -EBADMSG, -ENOMEM */
int section_take(struct section_reader *section, struct reader *ret_column);

struct planes {
	/* NULL: zeros */
	const uint8_t *bytes[PLANES];
	size_t count;
};

/* Columns of exactly so many numbers. */
int section_take_planes(struct section_reader *section, size_t count, struct planes *ret_planes);

static inline uint32_t planes_at(const struct planes *planes, size_t at)
{
	uint32_t number = 0;

	for (unsigned int i = 0; i < PLANES; i++)
		if (planes->bytes[i])
			number |= (uint32_t)planes->bytes[i][at] << (8 * i);
	return number;
}

/* A count of rows, of which each takes at least one byte of what is left in `rows`. */
int column_count(struct reader *column, const struct reader *rows, size_t *ret_count);

/* A number of a row that is there: below count, else the column fails. */
static inline uint32_t column_row(struct reader *column, size_t count)
{
	uint64_t row = reader_varint(column);

	if (row < count)
		return row;
	reader_fail(column);
	return 0;
}
