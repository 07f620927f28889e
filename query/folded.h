/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stacks added up by the names of their functions, over any number of tapes: a trie of names, and how often each of its paths was
 * the whole of a stack. No tape is needed any more once it was added.
 */

#include "base/intern.h"
#include "query/filter.h"
#include "query/map.h"
#include "query/output.h"
#include "tape/tape.h"

enum folded_weight {
	FOLDED_SAMPLES,
	FOLDED_PERIOD,
};

/* Twice a number is one too. */
#define FOLDED_NODES_MAX (UINT32_MAX / 2)

/* A function that was called so, or a comm: those are the root's children. */
struct folded_node {
	uint32_t parent;
	uint32_t name;
	uint64_t weight; /* of the stacks that end here */
};

/* Node 0 is the root. Parents have smaller numbers. */
struct folded {
	struct strings names; /* as they are written; none of those that are used is empty */
	array_of(struct folded_node) nodes;
	struct map known; /* nodes by their path and comm */

	/* For the tape that is being added; kept for the next one, as fresh memory costs more than what is done in it. */
	struct buffer text;
	array_of(uint32_t) string_names; /* by the tape's string; 0: not needed so far */
	array_of(uint32_t) frame_names;
	array_of(struct map_key) paths; /* by its stack */
	array_of(uint32_t) missing; /* stacks whose paths are put in */
};

int folded_new(struct folded **ret_folded);
struct folded *folded_free(struct folded *folded);
DEFINE_CLEANUP(folded, struct folded *, folded_free)

/* All samples of the tape. 0 or -ENOMEM. */
int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight);
/*
 * The sums of the tape, of comms that pass, and how many samples they are. 0 or -ENOMEM; 1, with nothing added, where they do not say enough: a thread without a name is
 * shown by its number.
 */
int folded_add_sums(struct folded *folded, const struct tape *tape, const struct filter *filter,
	uint64_t *ret_samples);
/* Adds another one. 0 or -ENOMEM. */
int folded_merge(struct folded *folded, const struct folded *other);

/* Where samples were counted: of how many frames they are, and how many of these have a name. 0 or -ENOMEM. */
int folded_count_frames(const struct folded *folded, uint64_t *ret_frames, uint64_t *ret_named);

/*
 * One line a distinct stack: "comm;outermost;...;leaf COUNT", sorted by text, as flamegraph.pl and speedscope read it.
 * Names are without offset; a `;` or newline in one becomes `:` or `?`. 0 or -ENOMEM.
 */
int folded_write(const struct folded *folded, struct output *output);
