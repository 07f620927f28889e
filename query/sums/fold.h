/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds up all samples of a window by stack. Threads take the segments in turn. If the window
 * contains a whole segment and the filter concerns only comms, the segment's sums are enough, and
 * its samples are not decoded. Memory use follows the result and one segment per thread.
 */

#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/sums/folded.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"

struct fold_options {
	/* its hook is called from one thread at a time */
	struct question question;
	enum folded_weight weight;
	/* keep the kind of each frame with its name */
	bool kinds;
	/* a set of enum folded_marks */
	unsigned int marks;
	/* at least 1 */
	unsigned int threads;
	/*
	 * Reports that `done` of `of` segments are done. Called from one thread at a time. May be
	 * NULL.
	 */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

struct fold {
	struct folded *folded;
	struct coverage coverage;
	uint64_t samples;
	/* number of segments read */
	uint64_t segments;
	/* number of these segments whose sums were enough */
	uint64_t summed;
};

/* Returns 0, or a negative errno with a message. Free the result with fold_done(). */
int fold_run(struct store_reader *reader, const struct fold_options *options, struct fold *ret_fold,
	     struct error *error);
void fold_done(struct fold *fold);
