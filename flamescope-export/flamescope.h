/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes samples as the text that Netflix Flamescope reads; stackcollapse-perf.pl and speedscope
 * read it, too. docs/FLAMESCOPE.md describes what Flamescope needs and what it cannot read. This
 * folder sanitises names; the store keeps the original ones.
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
	/*
	 * Leaves out the '#' lines, for readers that accept a file only if its first line is an
	 * event.
	 */
	bool no_header;
	/* Adds the thread as the outermost frame of each stack: "tid 1262 kubelet (thread)". */
	bool thread_frame;
	/*
	 * Set for a file that contains only a part of the window's samples: the name of the part,
	 * such as "cpu 3", and the number of all samples. NULL: the file contains all samples.
	 */
	const char *part;
	uint64_t of_samples;
};

/*
 * Writes the header, the start marker and the samples. If the selection has no rows, writes only
 * the header. Returns 0 or -ENOMEM.
 */
int flamescope_write(const struct selection *selection, const struct flamescope_options *options,
		     struct output *output);

/*
 * Each of these functions appends a name in a form that Flamescope can read, and returns whether
 * the text differs from the name. For an empty comm, it appends `tid`. A module's " (deleted)" is
 * omitted, as in perf's output; that does not count as a difference. Neither does the `@` for the
 * plus of a symbol that is only a place, such as `[libfoo.so+0x4c80]`.
 */
bool flamescope_put_comm(struct buffer *text, const char *comm, int tid);
bool flamescope_put_symbol(struct buffer *text, const char *symbol);
bool flamescope_put_module(struct buffer *text, const char *path);
