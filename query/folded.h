/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stacks added up by the names of their functions, over any number of tapes: a trie of names, and how often each of its paths was
 * the whole of a stack. No tape is needed any more once it was added.
 */

#include "query/filter.h"
#include "query/output.h"
#include "tape/tape.h"

enum folded_weight {
	FOLDED_SAMPLES,
	FOLDED_PERIOD,
};

struct folded;

int folded_new(struct folded **ret_folded);
struct folded *folded_free(struct folded *folded);
DEFINE_CLEANUP(folded, struct folded *, folded_free)

/* All samples of the tape. 0 or -ENOMEM. */
int folded_add_samples(struct folded *folded, const struct tape *tape, enum folded_weight weight);
/*
 * The sums of the tape, of comms that pass. 0 or -ENOMEM; 1, with nothing added, where they do not say enough: a thread without a name is
 * shown by its number.
 */
int folded_add_sums(struct folded *folded, const struct tape *tape, const struct filter *filter);
/* Adds another one. 0 or -ENOMEM. */
int folded_merge(struct folded *folded, const struct folded *other);

/*
 * One line a distinct stack: "comm;outermost;...;leaf COUNT", sorted by text, as flamegraph.pl and speedscope read it.
 * Names are without offset; a `;` or newline in one becomes `:` or `?`. 0 or -ENOMEM.
 */
int folded_write(const struct folded *folded, struct output *output);
