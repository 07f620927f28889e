/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The stacks: the section "trie". There is a forest for each comm. Interior nodes are callers, one
 * frame each. A leaf node is a function in which samples were taken, with the number of these
 * samples. Nodes are in depth-first order.
 *
 * The column of a sample has the rank of its leaf node within the comm, by number of samples. So
 * ranks need no table of nodes, and the sum over a segment is known without its samples.
 */

#include "tape/segment/segment-dictionary.h"

/* The distinct (comm, callers, leaf function) of a tape's samples. Each is a leaf node. */
struct trie {
	/* Strings of the tape, in the order of the forests. */
	array_of(uint32_t) comms;
	/* For each path, the number of its forest. */
	array_of(uint32_t) comm;
	array_of(uint32_t) stack;
	array_of(uint32_t) function;
	array_of(uint32_t) count;
	/* For each path, one of the frames of its leaf function. */
	array_of(uint32_t) frame;
	/* Indexed by path. */
	uint32_t *rank;
	uint32_t *sample_path;
	/* The number of samples of each CPU below TAPE_CPUS_MAX. */
	uint32_t *cpu_samples;
};

/* Builds the trie. Adds the leaves' uses to the dictionary's functions and ranks them. */
int trie_build(struct trie *trie, const struct tape *tape, struct dictionary *dictionary);
void trie_done(struct trie *trie);
int trie_encode(struct trie *trie, const struct dictionary *dictionary, struct encoding *encoding);

/* Decoded: the leaf nodes in depth-first order. */
struct leaves {
	/* Stacks of the tape. */
	array_of(uint32_t) stack;
	array_of(uint32_t) function;
	/* Indexes of `comms`. */
	array_of(uint32_t) comm;
	array_of(uint32_t) count;
	/*
	 * The leaf nodes of the first comm by rank, then those of the second, and so on. Only set
	 * if samples are wanted.
	 */
	uint32_t *by_rank;
	/* Strings of the tape. */
	array_of(uint32_t) comms;
	/* The first leaf node of each comm, and the total at the end. */
	array_of(uint32_t) comm_first;
};

void leaves_done(struct leaves *leaves);
/* Decodes the tape's stacks, and its sums if they are wanted. */
int trie_decode(const struct decoding *decoding, const struct functions *functions,
		struct leaves *leaves);
