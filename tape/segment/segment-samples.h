/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The samples: a section for each block of time (segment-block.h), and the section "blocks", which
 * says where each lies in time. */

#include "tape/segment/segment-block.h"

int samples_encode(struct encoding *encoding, const struct dictionary *dictionary,
		   const struct trie *trie);

/* The blocks that the window touches, on their way in. */
struct blocks {
	array_of(struct block_place) places;
	/* of each place; NULL: not read yet, or placed */
	struct incoming **incoming;
	uint32_t *comms;
	struct block_source source;
};

/* Zeroed to start; to be done also on failure. */
int blocks_find(const struct decoding *decoding, struct blocks *blocks);
void blocks_done(struct blocks *blocks);
/* Each may be read as soon as the tape has its threads. Different ones in several threads at once,
 * each with a decoding that has its own unpacker and error. */
int blocks_read(const struct decoding *decoding, struct blocks *blocks, size_t block);
/* Once the stacks are there. Both are borrowed. */
int blocks_know_stacks(const struct decoding *decoding, const struct functions *functions,
		       const struct leaves *leaves, struct blocks *blocks);
/* Room in the tape for the blocks [first, end), which were read, so that their counts are no mere
 * claims; in turn, so that they are in time order. */
int blocks_make_room(const struct decoding *decoding, struct blocks *blocks, size_t first,
		     size_t end);
/* Fills a block's room, in several threads at once as blocks_read(). */
int blocks_place(const struct decoding *decoding, struct blocks *blocks, size_t block);
