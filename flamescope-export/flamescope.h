/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes samples as the text that Netflix Flamescope reads; stackcollapse-perf.pl and speedscope
 * read it, too. docs/FLAMESCOPE.md describes what Flamescope needs and what breaks it. This folder
 * sanitises names; the store keeps them as they are.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "query/text/output.h"
#include "query/read/selection.h"

struct flamescope_options {
	/* The filter of the selection. */
	const struct filter *filter;
	const char *version;
	/* The number of threads that may make the text. */
	unsigned int threads;
	/* Adds the thread as the outermost frame of each stack: "tid 1262 kubelet (thread)". */
	bool thread_frame;
	/*
	 * For a file with a part of the window's samples: the part, such as "cpu 3", and the number
	 * of all samples. NULL: the file has all samples.
	 */
	const char *part;
	uint64_t of_samples;
};

/*
 * Writes the header, the start marker and the samples; only the header if the selection has no
 * rows. Returns 0 or -ENOMEM.
 */
int flamescope_write(const struct selection *selection, const struct flamescope_options *options,
		     struct output *output);

/*
 * Each appends a name in a form that Flamescope can read, and returns whether that differs from the
 * name. `tid` names a thread with an empty comm. A module loses " (deleted)", as in perf's output,
 * which does not count as a change.
 */
bool flamescope_put_comm(struct buffer *text, const char *comm, int tid);
bool flamescope_put_symbol(struct buffer *text, const char *symbol);
bool flamescope_put_module(struct buffer *text, const char *path);
