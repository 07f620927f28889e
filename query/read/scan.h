/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads all samples of a window that pass a filter, segment by segment. Threads take the segments
 * in turn, so a scan suits only sums, which do not depend on the order. Memory use follows the sums
 * and one segment per thread.
 *
 * If the filter passes all samples, a caller that can add a digest (tape/digest.h) gets the digests
 * of the segments that lie within the window. The scan then reads samples only at the edges of the
 * window. It does not use a digest that is damaged or that contradicts the index.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/read/loader.h"
#include "query/read/window-filter.h"
#include "store/read/store-reader.h"

/* The parts of a segment whose samples the scan must add, although its digest was added. */
struct scan_rest {
	array_of(struct window) list;
};

static inline void scan_rest_done(struct scan_rest *rest)
{
	array_done(&rest->list);
}

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
	/*
	 * Receives a tape that contains no samples but a digest of all of them. Returns 0, 1 if the
	 * digest does not suffice and nothing was added, or a negative errno. Samples of the parts
	 * that it appends to `rest` then go to add(). NULL: digests are not used.
	 */
	int (*add_digest)(void *context, unsigned int worker, const struct store_segment *segment,
			  const struct tape *tape, struct scan_rest *rest);
	/* The digests must have their pictures of fractions of a second. */
	bool pictures;
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
	/* number of segments read, and number of these segments whose digests sufficed */
	uint64_t segments, digested;
};

int scan_run(struct store_reader *reader, const struct scan_options *options,
	     struct scanned *ret_scanned, struct error *error);
void scanned_done(struct scanned *scanned);
