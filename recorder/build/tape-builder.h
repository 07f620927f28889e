/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Fills a tape with samples: what the tracker knows of a thread and of an address at this moment,
 * interned into the tape. The path that every sample takes.
 */

#include "recorder/build/callchain-cache.h"
#include "recorder/perf/perf-record.h"
#include "recorder/procs/tracker.h"
#include "tape/tape.h"

struct tape_builder {
	struct tracker *tracker;
	/* borrowed; set with tape_builder_start() */
	struct tape *tape;
	struct callchain_cache chains;
};

/* The tracker must outlive the filler. 0 or -ENOMEM. */
int tape_builder_init(struct tape_builder *filler, struct tracker *tracker);
void tape_builder_done(struct tape_builder *filler);
/* From now on into this tape. */
void tape_builder_start(struct tape_builder *filler, struct tape *tape);
/* A SAMPLE record is to be added soon, after those that were expected before it: what it takes is
 * asked for. */
void tape_builder_prefetch(struct tape_builder *filler, const struct perf_record *record,
			   struct chain *ret_chain);
/* Adds a SAMPLE record. `expected` may be NULL. 0; 1 when its callchain had to be cut, which the
 * caller counts; -ENOMEM. */
int tape_builder_add(struct tape_builder *filler, const struct perf_record *record,
		     const struct chain *expected);
/* The tape's row of the thread that a record is of. 0 or -ENOMEM. */
int tape_builder_add_thread(struct tape_builder *filler, const struct perf_record *record,
			    uint32_t *ret_row);
