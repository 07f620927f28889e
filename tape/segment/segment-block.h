/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * One block of samples, a section "samples". In it samples are ordered by CPU, then by time; the
 * stack column is grouped by comm and the leaf column by function, which the columns before tell.
 */

#include "tape/segment/segment-trie.h"

/* No block is longer, so that no time in it overflows anything. */
#define BLOCK_US_MAX (1ull << 40)

/* One block on its way out: `order` are its samples by CPU and time, numbers from the block's
 * first. */
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
	/* of its first sample */
	uint64_t begin_us;
	uint64_t last_us;
	uint64_t count;
	/* row of the tape */
	size_t first;
};

/* What the stacks of a block's samples are told by. */
struct block_source {
	const struct functions *functions;
	const struct leaves *leaves;
	/* which of the trie's comms a string is, by string; UINT32_MAX: none */
	const uint32_t *comms;
};

/*
 * A block on its way in, in two steps, each of which may be done side by side for several blocks:
 * reading it takes the tape's threads, and all but its samples' stacks is known then; placing it
 * takes the trie. -EBADMSG also where the text of the error says nothing yet.
 */
struct incoming;
int incoming_read(const struct decoding *decoding, const struct block_place *place,
		  struct incoming **ret_incoming);
struct incoming *incoming_free(struct incoming *incoming);
DEFINE_CLEANUP(incoming, struct incoming *, incoming_free)
/* Puts the block's samples, in time order, into room for as many. */
int incoming_place(struct incoming *incoming, const struct tape *tape,
		   const struct block_source *source, struct tape_sample *samples);

static inline uint64_t microseconds(uint64_t time_ns)
{
	return time_ns / TAPE_TIME_UNIT_NS;
}
