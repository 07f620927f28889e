/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes a long text whose pieces several threads make in parallel. The caller's thread writes them
 * in order. Memory use follows the number of threads, not the text.
 */

#include "query/text/output.h"

struct parallel_text {
	/* Appends a piece. Called from several threads at once. */
	void (*make)(const void *context, size_t piece, struct buffer *text);
	const void *context;
	size_t count;
	/*
	 * threads that may make pieces; if it is below 2, or no thread can start, the caller's
	 * thread makes all pieces
	 */
	unsigned int threads;
};

/*
 * Makes and writes all pieces. If writing fails, stops and returns 0, because output_commit()
 * reports that failure. Returns 0 or -ENOMEM.
 */
int parallel_text_write(const struct parallel_text *text, struct output *output);
