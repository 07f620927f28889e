/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The stacks: the section "trie". A forest for each comm: interior nodes are callers, a frame each;
 * a leaf node is the function that a sample was in, with how many samples were. Nodes stand in
 * depth-first order. A sample's column holds the rank of its leaf node among those of its comm, by
 * how many samples they have: no table from ranks to nodes is needed, and a whole segment's sum is
 * known without its samples.
 */

#include "tape/segment/segment-dictionary.h"

/* The distinct (comm, callers, leaf function) of a tape's samples, each a leaf node. */
struct trie {
	/* strings of the tape, in the order of the forests */
	array_of(uint32_t) comms;
	/* of each path, by the order of the forests */
	array_of(uint32_t) comm;
	array_of(uint32_t) stack;
	array_of(uint32_t) function;
	array_of(uint32_t) count;
	/* of each path */
	uint32_t *rank;
	uint32_t *sample_path;
};

/* Also adds the leaves' uses to the dictionary's functions, and ranks them. */
int trie_build(struct trie *trie, const struct tape *tape, struct dictionary *dictionary);
void trie_done(struct trie *trie);
int trie_encode(struct trie *trie, const struct dictionary *dictionary, struct encoding *encoding);

/* Decoded: leaf nodes in depth-first order. */
struct leaves {
	/* the tape's */
	array_of(uint32_t) stack;
	array_of(uint32_t) function;
	/* which of the comms */
	array_of(uint32_t) comm;
	array_of(uint32_t) count;
	/* of the first comm, then of the second; only for samples */
	uint32_t *by_rank;
	/* strings of the tape */
	array_of(uint32_t) comms;
	/* of each comm, and one more: where its leaf nodes begin */
	array_of(uint32_t) comm_first;
};

void leaves_done(struct leaves *leaves);
/* Fills the tape's stacks, and its sums if they are wanted. */
int trie_decode(const struct decoding *decoding, const struct functions *functions,
		struct leaves *leaves);
