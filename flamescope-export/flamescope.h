/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Samples as the text that Netflix Flamescope reads (and stackcollapse-perf.pl, and speedscope).
 * What Flamescope wants and what breaks it is kept in docs/FLAMESCOPE.md; the sanitising is all
 * here, never in the store.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "query/text/output.h"
#include "query/read/selection.h"

struct flamescope_options {
	/* that the selection was made with */
	const struct filter *filter;
	const char *version;
	/* that may make the text */
	unsigned int threads;
	/* outermost in each stack stands its thread, "tid 1262 kubelet (thread)" */
	bool thread_frame;
	/* Of a file that has only some of the window's samples: which, "cpu 3", and of how many.
	 * NULL: it has all. */
	const char *part;
	uint64_t of_samples;
};

/* The header, the start marker, the samples. 0 or -ENOMEM. A selection of no rows gives the header
 * alone. */
int flamescope_write(const struct selection *selection, const struct flamescope_options *options,
		     struct output *output);

/*
 * Each appends a name as Flamescope can read it, and says whether that is another text than the
 * name was. tid is for a comm that is empty. The module is as perf names it, without " (deleted)",
 * which counts as no change.
 */
bool flamescope_put_comm(struct buffer *text, const char *comm, int tid);
bool flamescope_put_symbol(struct buffer *text, const char *symbol);
bool flamescope_put_module(struct buffer *text, const char *path);
