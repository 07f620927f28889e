/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * One block of samples, a section "samples". In it samples are ordered by CPU, then by time; the stack column is grouped by comm and the leaf
 * column by function, which the columns before tell.
 */

#include "tape/segment-trie.h"

/* No block is longer, so that no time in it overflows anything. */
#define BLOCK_US_MAX (1ull << 40)

/* One block on its way out: `order` are its samples by CPU and time, numbers from the block's first. */
struct block {
	const struct tape_sample *samples;
	size_t count;
	uint64_t begin_us;
	uint32_t *order;
	uint32_t *grouped;
	uint32_t *scratch;
	uint32_t *keys;
	uint32_t *values;
	struct buffer head, times, escapes, threads, others, periods;
};

/* Room for blocks of so many samples. */
int block_init(struct block *block, size_t count);
void block_done(struct block *block);
/* The samples are in time order and span less than BLOCK_US_MAX; paths are theirs. */
int block_encode(struct block *block, struct encoding *encoding,
	const struct dictionary *dictionary, const struct trie *trie,
	const struct tape_sample *samples, const uint32_t *paths, size_t count);

/* What the section "blocks" says of one. */
struct block_place {
	const struct contents_entry *entry;
	uint64_t begin_us; /* of its first sample */
	uint64_t last_us;
	uint64_t count;
};

/* What decoding blocks takes. */
struct block_source {
	const struct functions *functions;
	const struct leaves *leaves;
	const uint32_t
		*comms; /* which of the trie's comms a string is, by string; UINT32_MAX: none */
};

/* Adds the block's samples to the tape, in time order. */
int block_decode(const struct decoding *decoding, const struct block_source *source,
	const struct block_place *place);

static inline uint64_t microseconds(uint64_t time_ns)
{
	return time_ns / TAPE_TIME_UNIT_NS;
}
