/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * All samples of a window added up by stack, in threads that take the segments in turn. Where the
 * window holds a whole segment and asks for no more than comms, its sums are enough and none of its
 * samples is decoded. Memory follows what comes out, and one segment a thread.
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
	/* of the frames are kept with their names */
	bool kinds;
	/* at least 1 */
	unsigned int threads;
	/* How many segments of how many are done; called from one thread at a time. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t of);
	void *progress_context;
};

struct fold {
	struct folded *folded;
	struct coverage coverage;
	uint64_t samples;
	/* that were read */
	uint64_t segments;
	/* of these, without their samples */
	uint64_t summed;
};

int fold_run(struct store_reader *reader, const struct fold_options *options, struct fold *ret_fold,
	     struct error *error);
void fold_done(struct fold *fold);
