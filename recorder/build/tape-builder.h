/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds samples to a tape: thread and frames, with the tracker's present names and mappings. All
 * samples pass through here.
 */

#include "recorder/build/callchain-cache.h"
#include "recorder/perf/perf-record.h"
#include "recorder/procs/tracker.h"
#include "tape/tape.h"

struct tape_builder {
	struct tracker *tracker;
	/* Borrowed; set by tape_builder_start(). */
	struct tape *tape;
	struct callchain_cache callchains;
	/* What each cgroup may add to a tape, if tape_builder_limit() was called. */
	struct accounts detail;
};

/* Prepares the builder. The tracker must outlive it. Returns 0 or -ENOMEM. */
int tape_builder_init(struct tape_builder *builder, struct tracker *tracker);
void tape_builder_done(struct tape_builder *builder);
/* Fills this tape from now on. Each cgroup may add as much as before to the new tape. */
void tape_builder_start(struct tape_builder *builder, struct tape *tape);
/*
 * Bounds what each cgroup may add to a tape from the next tape on, for that many samples per
 * second. Call it each second, as it renews what a cgroup may add.
 */
void tape_builder_limit(struct tape_builder *builder, uint64_t samples);
/* Adds the number of callchains that were cut because a cgroup added too many to `counts`, by
 * cgroup. */
int tape_builder_count_cut(struct tape_builder *builder, struct cgroup_counts *counts);
/*
 * Prefetches what tape_builder_add() will read for a SAMPLE record. Records are added in the order
 * of their prefetches.
 */
void tape_builder_prefetch(struct tape_builder *builder, const struct perf_record *record,
			   struct chain *ret_chain);
/*
 * Adds a SAMPLE record. `prefetched` may be NULL. Returns 0; 1 if its callchain was truncated,
 * which the caller counts; -ENOMEM.
 */
int tape_builder_add(struct tape_builder *builder, const struct perf_record *record,
		     const struct chain *prefetched);
/*
 * Finds the tape's row for the thread of a record, and adds it if it is new. Returns 0 or -ENOMEM.
 */
int tape_builder_add_thread(struct tape_builder *builder, const struct perf_record *record,
			    uint32_t *ret_row);
