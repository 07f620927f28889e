/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Modules, functions and their frames: the sections "modules" and "function". A function has one
 * symbol and one start in a module. Frames without a symbol belong to pseudo-functions of 4 KB.
 *
 * A frame that calls another is a site of its function. A sampled frame is a leaf of its function.
 * A frame that is both is in both lists. The lists are sorted by use, so that frequent frames have
 * small numbers.
 */

#include "tape/segment/segment-internal.h"

struct dictionary_function {
	uint32_t module;
	uint32_t symbol;
	/* A frame's address is this start plus the frame's offset; the sum may wrap. */
	uint64_t start;
	uint64_t uses;
	/* Its rank by uses, which the trie refers to. */
	uint32_t rank;
	uint32_t sites;
	uint32_t leaves;
};

/* The place of one of the tape's frames. */
struct dictionary_place {
	uint32_t function;
	uint32_t site;
	uint32_t leaf;
};

struct dictionary {
	/* Function 0 is the unknown one. */
	array_of(struct dictionary_function) functions;
	/* Indexed by frame of the tape. */
	struct dictionary_place *places;
	/* 1 if a sample has the stack or a stack below it. */
	uint8_t *used_stacks;
	/* The columns of offsets. */
	struct buffer sites;
	struct buffer leaves;
};

int dictionary_build(struct dictionary *dictionary, const struct tape *tape);
void dictionary_done(struct dictionary *dictionary);
/* Ranks the functions. The caller has set their uses. */
int dictionary_rank(struct dictionary *dictionary);
int dictionary_encode(const struct dictionary *dictionary, struct encoding *encoding);

/* Decoded: the frames of a function, as rows of the tape. */
struct function_frames {
	uint32_t first_site, sites;
	uint32_t first_leaf, leaves;
};

struct functions {
	/* Function 0 is the unknown one, of frame 0. */
	array_of(struct function_frames) rows;
	uint32_t *by_rank;
};

void functions_done(struct functions *functions);
/* Decodes the tape's modules and frames. */
int dictionary_decode(const struct decoding *decoding, struct functions *functions);
