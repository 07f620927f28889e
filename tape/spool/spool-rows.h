/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What stands in a block of the spool: rows of every table, since the mark. Only spool.c, the
 * codecs and their tests use it.
 *
 * Rows are varints; where numbers are near the ones before, differences. Each decoder stands under
 * its encoder and checks that every number refers to a row that is there. A count is never believed
 * beyond the bytes that follow.
 */

#include "tape/spool/spool.h"

/* Of later moments the microsecond behind them has no number: a tape could not say that they lie
 * before its end. */
#define SPOOL_TIME_UNITS (UINT64_MAX / TAPE_TIME_UNIT_NS)

/* A tape that is filled block by block. Its points are gathered by gauge at the end: a gauge grows
 * with each block. */
struct spool_rows {
	struct tape *tape;
	/* of each point the gauge */
	array_of(uint32_t) owners;
	/* of each gauge the last one */
	array_of(int64_t) values;
};
int spool_rows_init(struct spool_rows *rows);
void spool_rows_done(struct spool_rows *rows);

/* Appends what came into the tape since the mark. Failure is in the buffer. */
void spool_rows_encode(const struct tape *tape, const struct spool_mark *mark, struct buffer *raw);
/* The rows of a block that has so many samples. 0, -ENOMEM, -EBADMSG: then none of them are there.
 */
int spool_rows_decode(struct spool_rows *rows, const void *raw, size_t size, uint32_t samples);
/* Puts everything into its order, and gives the tape away. 0 or -ENOMEM. */
int spool_rows_finish(struct spool_rows *rows, struct tape **ret_tape);

/* The tables of a block, in order: rows come after what they refer to. */
struct spool_table {
	void (*encode)(const struct tape *tape, const struct spool_mark *mark, struct buffer *raw);
	/* 0, -ENOMEM, -EBADMSG; a failed reader is damage too. */
	int (*decode)(struct spool_rows *rows, struct reader *raw);
};
#define SPOOL_DICTIONARY_TABLES 7
#define SPOOL_CONTEXT_TABLES 8
extern const struct spool_table spool_dictionary[SPOOL_DICTIONARY_TABLES];
extern const struct spool_table spool_context[SPOOL_CONTEXT_TABLES];

/* Sets the mark to where the tape is, but for the gauges. */
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

/* Makes room in an array of the tape for the rows that follow, each of row_bytes at least; `count`
 * is set to how many. */
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

/* The difference to what stood before; both wrap, so that any two numbers have one. */
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
