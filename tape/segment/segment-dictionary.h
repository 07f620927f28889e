/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Modules, functions, and the frames in them: the sections "modules" and "function". A function is
 * what has one symbol and one start in a module; a frame without a symbol belongs to a
 * pseudo-function of 4 KB. A frame that calls is a site of its function, one that was sampled is a
 * leaf of it; what is both is in both lists. Both are in the order of their use, so that their
 * numbers are small where they are many.
 */

#include "tape/segment/segment-internal.h"

struct dictionary_function {
	uint32_t module;
	uint32_t symbol;
	/* wraps: a frame's address is start + its offset */
	uint64_t start;
	uint64_t uses;
	/* by its uses, as the trie knows it */
	uint32_t rank;
	uint32_t sites;
	uint32_t leaves;
};

/* Where a frame of the tape is. */
struct dictionary_place {
	uint32_t function;
	uint32_t site;
	uint32_t leaf;
};

struct dictionary {
	/* 0 is the unknown one */
	array_of(struct dictionary_function) functions;
	/* of the tape's frames */
	struct dictionary_place *places;
	/* 1: a sample has it, or one of its callees */
	uint8_t *used_stacks;
	/* the columns of offsets */
	struct buffer sites;
	struct buffer leaves;
};

int dictionary_build(struct dictionary *dictionary, const struct tape *tape);
void dictionary_done(struct dictionary *dictionary);
/* Once their uses are known: gives functions their ranks. */
int dictionary_rank(struct dictionary *dictionary);
int dictionary_encode(const struct dictionary *dictionary, struct encoding *encoding);

/* Decoded: the rows of the tape's frames that are a function's. */
struct function_frames {
	uint32_t first_site, sites;
	uint32_t first_leaf, leaves;
};

struct functions {
	/* 0 is the unknown one, of frame 0 */
	array_of(struct function_frames) rows;
	uint32_t *by_rank;
};

void functions_done(struct functions *functions);
/* Fills the tape's modules and frames. */
int dictionary_decode(const struct decoding *decoding, struct functions *functions);
