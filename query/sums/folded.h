/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stacks added up by the names of their functions, over any number of tapes: distinct lines and
 * their weights. The caller may free a tape after adding it.
 *
 * A line consists of the comm and the functions from the outermost on, each as the number of its
 * name. Lines need less memory than a trie: for a whole night, most nodes of a trie would lie above
 * a line that is already known.
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

/* The first character of a frame's name if kinds are kept; "[unknown]" has none. */
enum folded_kind {
	FOLDED_KERNEL = 'k',
	FOLDED_PROGRAM = 'p',
	FOLDED_VDSO = 'v',
	FOLDED_JIT = 'j',
};

/* The frames whose names get a mark at the end. flamegraph.pl chooses colours by these marks. */
enum folded_marks {
	/* "_[k]" */
	FOLDED_MARK_KERNEL = 1,
	/* "_[j]" */
	FOLDED_MARK_JIT = 2,
};

struct folded_line {
	/* key of the line's text */
	struct hash96_key key;
	/* index of its first word; the line ends where the next one begins */
	uint32_t first;
};

/*
 * The key of one of a tape's stacks. It is small, because a tape has hundreds of thousands of
 * stacks.
 */
struct folded_path {
	uint64_t a;
	uint32_t b;
	uint32_t depth;
};

/* Line 0 is not used and has no words. */
struct folded {
	/* set before anything is added: each name starts with its kind and is not cleaned */
	bool kinds;
	/* a set of enum folded_marks; set before anything is added */
	unsigned int marks;
	/* the first frame of each line that is written, clean; NULL: lines begin with the comm */
	const char *host;
	/* names as they are written; a name in use is never empty */
	struct strings names;
	/* hashes of the names' texts */
	array_of(uint64_t) name_keys;
	/* numbers of the names, line after line */
	array_of(uint32_t) words;
	array_of(struct folded_line) lines;
	/* weights of the lines */
	array_of(uint64_t) weights;
	/* finds a line by its key */
	struct hash96 known;

	/*
	 * Scratch memory for the tape that is being added. The next tape uses it again, because the
	 * page faults of fresh memory would cost more time than the adding itself.
	 */
	struct buffer text;
	/* indexed by the tape's strings, modules and frames; 0: not needed yet */
	array_of(uint32_t) string_names;
	array_of(uint32_t) module_names;
	array_of(uint32_t) frame_names;
	/*
	 * indexed by the tape's strings: the last name with a kind; 0: none yet. Comms have their
	 * names in string_names.
	 */
	array_of(uint32_t) kind_names;
	/*
	 * indexed by name: the name that the last tape had after it; 0: none. Tapes resemble each
	 * other, so comparing with this name saves most look-ups.
	 */
	array_of(uint32_t) followers;
	/* indexed by the tape's stacks */
	array_of(struct folded_path) paths;
};

int folded_new(struct folded **ret_folded);
struct folded *folded_free(struct folded *folded);
DEFINE_CLEANUP(folded, struct folded *, folded_free)

/* Adds all samples of the tape. Returns 0 or -ENOMEM. */
int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight);
/*
 * Adds the tape's sums for the comms that pass. *ret_samples is the number of their samples.
 * Returns 0, -ENOMEM, or 1 if the sums are not enough and nothing was added. Sums are not enough if
 * a thread has no name: its number is shown instead, which sums lack.
 */
int folded_add_sums(struct folded *folded, const struct tape *tape, const struct filter *filter,
		    uint64_t *ret_samples);
/* Adds another set of stacks. Returns 0 or -ENOMEM. */
int folded_merge(struct folded *folded, const struct folded *other);

/* Returns the names of a line, the comm first. Valid until the next addition. */
static inline const uint32_t *folded_words(const struct folded *folded, uint32_t line,
					   uint32_t *ret_count)
{
	const struct folded_line *at = &folded->lines.items[line];
	uint32_t end = line + 1 < folded->lines.count ? at[1].first : folded->words.count;

	*ret_count = end - at->first;
	return folded->words.items + at->first;
}

enum folded_order {
	/* By the text of the lines. */
	FOLDED_ORDER_TEXT,
	/*
	 * Lines that begin with the same words are neighbours, even if one of the lines ends after
	 * these words.
	 */
	FOLDED_ORDER_TREE,
	/* As FOLDED_ORDER_TREE, but compares the words from the last to the first. */
	FOLDED_ORDER_REVERSE,
};

/*
 * Returns all line numbers, from 1 to lines.count - 1, in the order `by`. The caller frees them.
 * Returns 0 or -ENOMEM.
 */
int folded_sort(const struct folded *folded, enum folded_order by, uint32_t **ret_order);

/*
 * Writes one line for each distinct stack: "comm;outermost;...;leaf COUNT", sorted by text, for
 * flamegraph.pl and speedscope. Names have no offsets and are clean (query/text/clean-name.h); a
 * `;` in a name becomes `:`. A frame without a symbol is "[FILE]", or "[unknown]" without a module.
 * Returns 0 or -ENOMEM.
 */
int folded_write(const struct folded *folded, struct output *output);
