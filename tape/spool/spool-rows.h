/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The rows in a block of the spool: rows of every table since the mark. Only spool.c, the codecs
 * and their tests use this.
 *
 * Rows consist of varints. Numbers that are near the previous ones are stored as differences. Each
 * decoder stands below its encoder and checks that every number refers to a row that exists. A
 * count is limited by the bytes that follow.
 */

#include "tape/spool/spool.h"

/* The first time unit whose next unit overflows in nanoseconds. A tape could not end after it. */
#define SPOOL_TIME_UNITS (UINT64_MAX / TAPE_TIME_UNIT_NS)

/*
 * A tape that is decoded block by block. Points are grouped by gauge at the end, because each block
 * adds to the gauges.
 */
struct spool_rows {
	struct tape *tape;
	/* The gauge of each point. */
	array_of(uint32_t) owners;
	/* The last value of each gauge. */
	array_of(int64_t) values;
};
int spool_rows_init(struct spool_rows *rows);
void spool_rows_done(struct spool_rows *rows);

/* Appends the rows that the tape got since the mark. An error is in the buffer. */
void spool_rows_encode(const struct tape *tape, const struct spool_mark *mark, struct buffer *raw);
/*
 * Decodes the rows of a block with `samples` samples. Returns 0, -ENOMEM or -EBADMSG. On failure,
 * the tape stays without these rows.
 */
int spool_rows_decode(struct spool_rows *rows, const void *raw, size_t size, uint32_t samples);
/* Sorts all rows and gives the tape to the caller. Returns 0 or -ENOMEM. */
int spool_rows_finish(struct spool_rows *rows, struct tape **ret_tape);

/* The tables of a block. Rows come after the rows that they refer to. */
struct spool_table {
	void (*encode)(const struct tape *tape, const struct spool_mark *mark, struct buffer *raw);
	/* Returns 0, -ENOMEM or -EBADMSG. A failed reader is damage, too. */
	int (*decode)(struct spool_rows *rows, struct reader *raw);
};
#define SPOOL_DICTIONARY_TABLES 7
#define SPOOL_CONTEXT_TABLES 8
extern const struct spool_table spool_dictionary[SPOOL_DICTIONARY_TABLES];
extern const struct spool_table spool_context[SPOOL_CONTEXT_TABLES];

/* Sets the mark to the tape's counts, except for gauges. */
void spool_mark_counts(const struct tape *tape, struct spool_mark *mark);

static inline uint64_t pids_hash(const struct tape *tape, size_t count)
{
	return count ? hash_bytes(tape->pids.items, count * sizeof(*tape->pids.items)) : 0;
}

static inline int read_count(struct reader *raw, size_t row_bytes, size_t *ret_count)
{
	uint64_t count = reader_varint(raw);

	if (reader_failed(raw) || count > reader_left(raw) / row_bytes)
		return -EBADMSG;
	*ret_count = count;
	return 0;
}

/*
 * Reads a count of rows into `count`, each of at least row_bytes, and reserves room for them in an
 * array.
 */
#define READ_ROWS(array, raw, row_bytes, count)                              \
	({                                                                   \
		int _r = read_count((raw), (row_bytes), &(count));           \
		if (_r == 0)                                                 \
			_r = array_reserve((array), (array)->count + count); \
		_r;                                                          \
	})

static inline uint64_t read_below(struct reader *raw, uint64_t limit)
{
	uint64_t value = reader_varint(raw);

	if (value < limit)
		return value;
	reader_fail(raw);
	return 0;
}

static inline uint32_t read_u32(struct reader *raw)
{
	return read_below(raw, 1ull << 32);
}

static inline int32_t read_i32(struct reader *raw)
{
	return unzigzag(read_below(raw, 1ull << 32));
}

static inline int64_t read_signed(struct reader *raw)
{
	return unzigzag(reader_varint(raw));
}

static inline void put_signed(struct buffer *raw, int64_t value)
{
	buffer_varint(raw, zigzag(value));
}

/*
 * Puts the difference to the previous number. Both functions wrap, so any two numbers have a
 * difference.
 */
static inline void put_difference(struct buffer *raw, uint64_t value, uint64_t before)
{
	put_signed(raw, (int64_t)(value - before));
}

static inline uint64_t read_difference(struct reader *raw, uint64_t before)
{
	return before + (uint64_t)read_signed(raw);
}

static inline uint32_t read_string(const struct tape *tape, struct reader *raw)
{
	return read_below(raw, strings_count(&tape->strings));
}
