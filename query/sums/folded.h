/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stacks added up by the names of their functions, over any number of tapes: distinct lines, and
 * how often each came. No tape is needed any more once it was added.
 *
 * A line is the comm and its functions from the outermost one on, all as names of ours. There is no
 * trie: what a whole night costs is its nodes, and most of them are above some line that is known.
 */

#include "base/intern.h"
#include "query/window/filter.h"
#include "query/sums/hash96.h"
#include "query/text/output.h"
#include "tape/tape.h"

enum folded_weight {
	FOLDED_SAMPLES,
	FOLDED_PERIOD,
};

/* What a frame's name begins with where kinds are kept; "[unknown]" has none. */
enum folded_kind {
	FOLDED_KERNEL = 'k',
	FOLDED_PROGRAM = 'p',
	FOLDED_VDSO = 'v',
	FOLDED_JIT = 'j',
};

struct folded_line {
	/* of its text */
	struct hash96_key key;
	/* word; the line ends where the next one begins */
	uint32_t first;
};

/* Of one of a tape's stacks: its key, in no more memory than need be, as there are hundreds of
 * thousands. */
struct folded_path {
	uint64_t a;
	uint32_t b;
	uint32_t depth;
};

/* Line 0 is none and has no words. */
struct folded {
	/* set before anything is added: names of frames say what they are of, and are as they were
	 * recorded */
	bool kinds;
	/* as they are written; none of those that are used is empty */
	struct strings names;
	/* hashes of their text */
	array_of(uint64_t) name_keys;
	/* names, line behind line */
	array_of(uint32_t) words;
	array_of(struct folded_line) lines;
	/* of the lines */
	array_of(uint64_t) weights;
	/* lines by their key */
	struct hash96 known;

	/* For the tape that is being added; kept for the next one, as fresh memory costs more than
	 * what is done in it. */
	struct buffer text;
	/* by the tape's string; 0: not needed so far */
	array_of(uint32_t) string_names;
	array_of(uint32_t) frame_names;
	/* by its stack */
	array_of(struct folded_path) paths;
};

int folded_new(struct folded **ret_folded);
struct folded *folded_free(struct folded *folded);
DEFINE_CLEANUP(folded, struct folded *, folded_free)

/* All samples of the tape. 0 or -ENOMEM. */
int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight);
/*
 * The sums of the tape, of comms that pass, and how many samples they are. 0 or -ENOMEM; 1, with
 * nothing added, where they do not say enough: a thread without a name is shown by its number.
 */
int folded_add_sums(struct folded *folded, const struct tape *tape, const struct filter *filter,
		    uint64_t *ret_samples);
/* Adds another one. 0 or -ENOMEM. */
int folded_merge(struct folded *folded, const struct folded *other);

/* The names of a line, the comm's first; borrowed. */
static inline const uint32_t *folded_words(const struct folded *folded, uint32_t line,
					   uint32_t *ret_count)
{
	const struct folded_line *at = &folded->lines.items[line];
	uint32_t end = line + 1 < folded->lines.count ? at[1].first : folded->words.count;

	*ret_count = end - at->first;
	return folded->words.items + at->first;
}

/* Where samples were counted: of how many frames they are, and how many of these have a name. */
void folded_count_frames(const struct folded *folded, uint64_t *ret_frames, uint64_t *ret_named);

/* The lines from 1 on, lines.count - 1 of them, in the order of their text; the caller frees. 0 or
 * -ENOMEM. */
int folded_order(const struct folded *folded, uint32_t **ret_order);

/*
 * One line a distinct stack: "comm;outermost;...;leaf COUNT", sorted by text, as flamegraph.pl and
 * speedscope read it. Names are without offset, and as query/text/clean-name.h has them; a `;` in
 * one becomes `:`. 0 or -ENOMEM.
 */
int folded_write(const struct folded *folded, struct output *output);
