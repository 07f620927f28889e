/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads all samples of a window that pass a filter, segment by segment. Threads take the segments
 * in turn, so it suits only sums, which do not depend on the order. Memory use follows the sums and
 * one segment per thread.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/read/loader.h"
#include "query/read/window-filter.h"
#include "store/read/store-reader.h"

struct scan_options {
	/* its hook is called from one thread at a time */
	struct question question;
	/* at least 1 */
	unsigned int threads;
	/*
	 * Receives a tape that contains only selected samples, and their times. Called from several
	 * threads at once, each with a worker number below `threads`. Returns 0 or a negative
	 * errno.
	 */
	int (*add)(void *context, unsigned int worker, const struct store_segment *segment,
		   const struct tape *tape, const struct window_filter_times *times);
	void *context;
	/*
	 * Reports that `done` of `of` segments are done. Called from one thread at a time. May be
	 * NULL.
	 */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

struct scanned {
	struct coverage coverage;
	uint64_t samples;
};

int scan_run(struct store_reader *reader, const struct scan_options *options,
	     struct scanned *ret_scanned, struct error *error);
void scanned_done(struct scanned *scanned);
