/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A long text in pieces that threads make side by side, and the caller's writes in their order.
 * Memory follows the threads, not the text. */

#include "query/text/output.h"

struct parallel_text {
	/* Appends a piece. Called from several threads at once. */
	void (*make)(const void *context, size_t piece, struct buffer *text);
	const void *context;
	size_t count;
	/* that may make them; below 2, or where no more can be had, the caller's makes all */
	unsigned int threads;
};

/* Ends early when the output has failed, which is no error here. 0 or -ENOMEM. */
int parallel_text_write(const struct parallel_text *pieces, struct output *output);
