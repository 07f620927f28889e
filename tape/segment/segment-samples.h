/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The samples: a section for each block of time (segment-block.h), and the section "blocks" with
 * their times.
 */

#include "tape/segment/segment-block.h"

int samples_encode(struct encoding *encoding, const struct dictionary *dictionary,
		   const struct trie *trie);

/* The blocks that overlap the wanted window. */
struct blocks {
	array_of(struct block_place) places;
	/* The read block of each place; NULL if it is not read yet, or already placed. */
	struct incoming **incoming;
	uint32_t *comms;
	struct block_source source;
};

/* Finds the blocks. `blocks` is zeroed at first. The caller calls blocks_done() also on failure. */
int blocks_find(const struct decoding *decoding, struct blocks *blocks);
void blocks_done(struct blocks *blocks);
/*
 * Reads a block. The tape must have its threads. Several threads may read different blocks at once,
 * each with a decoding that has its own unpacker and error.
 */
int blocks_read(const struct decoding *decoding, struct blocks *blocks, size_t block);
/* Sets the stacks for blocks_place(). Borrows both tables. */
int blocks_know_stacks(const struct decoding *decoding, const struct functions *functions,
		       const struct leaves *leaves, struct blocks *blocks);
/*
 * Adds rows to the tape for the blocks [first, end). blocks_read() must have read these blocks and
 * so proved their numbers of samples. Call it in the order of the blocks, so that samples are in
 * time order.
 */
int blocks_make_room(const struct decoding *decoding, struct blocks *blocks, size_t first,
		     size_t end);
/* Writes a block's samples into its rows. Several threads may do so, as with blocks_read(). */
int blocks_place(const struct decoding *decoding, struct blocks *blocks, size_t block);
