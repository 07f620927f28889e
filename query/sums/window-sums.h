/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The sums of a window: the one way to ask how much time each CPU, thread group and function took
 * in a stretch of time. It uses the digests of segments that lie within the window, and samples at
 * its edges, or where a filter needs them. The result is the same as from all samples, row by row.
 *
 * A digest has what one segment adds up to: each CPU by stack class in intervals of at least 10 s,
 * each thread by stack class, each group on each CPU, and each function, alone and with what it
 * called. So a grid of CPUs may have columns of 10 s, and groups and functions have one value for
 * each segment; sums-series gives these as a series. A stack is only in the sums of stacks of a
 * segment (query/sums/fold.h).
 *
 * Threads take the segments in turn. Memory use follows the result: the distinct names, the cells
 * of the grid, and one row for each thread if these are wanted.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/read/loader.h"
#include "query/sums/heat.h"
#include "query/sums/tally-tape.h"
#include "store/read/store-reader.h"

struct window_sums_options {
	/* the window and the filter; its hook is called from one thread at a time */
	struct question question;
	/* what to add up (enum tally_parts); 0: no tally */
	unsigned int parts;
	/* the groups of the tally */
	enum tally_by by;
	/* a grid of the same window, whose rows and columns the sums use; NULL: no grid */
	const struct heat *grid;
	/* use no digests; the result is the same */
	bool samples_only;
	/* at least 1 */
	unsigned int threads;
	/*
	 * Reports that `done` of `of` segments are done. Called from one thread at a time. May be
	 * NULL.
	 */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

struct window_sums {
	/* NULL: not wanted */
	struct tally *tally;
	struct heat *heat;
	struct coverage coverage;
	uint64_t samples;
	/* number of segments read, and number of these segments whose digests sufficed */
	uint64_t segments, digested;
};

/* Returns 0, or a negative errno with a message. Free the result with window_sums_done(). */
int window_sums_read(struct store_reader *reader, const struct window_sums_options *options,
		     struct window_sums *ret_sums, struct error *error);
void window_sums_done(struct window_sums *sums);
