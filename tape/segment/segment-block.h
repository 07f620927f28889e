/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * One block of samples, in a section "samples". Its samples are sorted by CPU, then by time. The
 * stack column is grouped by comm and the leaf column by function. A reader knows these groups from
 * the columns before.
 */

#include "tape/segment/segment-trie.h"

/* The maximum length of a block, so that its times do not overflow. */
#define BLOCK_US_MAX (1ull << 40)

/*
 * A block that is being encoded. `order` has the numbers of the samples within the block, by CPU
 * and time.
 */
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

/* Allocates memory for blocks of `count` samples. Returns 0 or -ENOMEM. */
int block_init(struct block *block, size_t count);
void block_done(struct block *block);
/*
 * Encodes a block. The samples must be in time order and span less than BLOCK_US_MAX. `paths` are
 * their paths in the trie.
 */
int block_encode(struct block *block, struct encoding *encoding,
		 const struct dictionary *dictionary, const struct trie *trie,
		 const struct tape_sample *samples, const uint32_t *paths, size_t count);

/* The description of a block in the section "blocks". */
struct block_place {
	const struct contents_entry *entry;
	/* The time of the first sample. */
	uint64_t begin_us;
	uint64_t last_us;
	uint64_t count;
	/* The row of the block's first sample in the tape. */
	size_t first;
};

/* The tables from which incoming_place() finds the stacks of samples. */
struct block_source {
	const struct functions *functions;
	const struct leaves *leaves;
	/* Maps strings to the trie's comms; UINT32_MAX if the string is not one of them. */
	const uint32_t *comms;
};

/*
 * A block that is being decoded, in two steps. Several threads may do each step for different
 * blocks. Reading needs the tape's threads and decodes everything but the stacks. Placing needs the
 * trie.
 *
 * Either step may return -EBADMSG without setting a text.
 */
struct incoming;
int incoming_read(const struct decoding *decoding, const struct block_place *place,
		  struct incoming **ret_incoming);
struct incoming *incoming_free(struct incoming *incoming);
DEFINE_CLEANUP(incoming, struct incoming *, incoming_free)
/* Writes the block's samples, in time order, to `samples`, which has room for them. */
int incoming_place(struct incoming *incoming, const struct tape *tape,
		   const struct block_source *source, struct tape_sample *samples);

static inline uint64_t microseconds(uint64_t time_ns)
{
	return time_ns / TAPE_TIME_UNIT_NS;
}
