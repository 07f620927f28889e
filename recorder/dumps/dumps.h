/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Gives samples whole user stacks. Finds the copy of each sample's stack in the rings, and walks
 * the copy with the mappings at the time of the sample. The number of samples, their times, threads
 * and weights are always those of the first event.
 *
 * The memory of a copy is far from this CPU, because another CPU wrote it a moment ago. So the
 * walks of several samples take turns, and each step prefetches the memory of the next one.
 *
 *   begin -> (prefetch ... walk ... apply) of each sample, in time order -> end
 */

#include "recorder/dumps/dump-pairs.h"
#include "recorder/dumps/dump-walk.h"
#include "recorder/perf/perf-dumps.h"

/* The greatest number of samples that are prefetched and not applied yet. */
#define DUMPS_AHEAD 16
/* The useful number of samples between the prefetch of a sample and its walk. */
#define DUMPS_TURNS 8

/* The number of samples by the end of their user stacks. */
struct dumps_counts {
	/*
	 * Stacks up to the outermost caller; stacks that end too early; stacks from frame pointers
	 * only.
	 */
	uint64_t whole, cut, frame_pointers;
	/*
	 * Walks that needed more than the copy; the kernel's callers completed some of these
	 * stacks.
	 */
	uint64_t small;
	/* Copies that did not fit into a ring. */
	uint64_t lost;
	/* How often the timers of a CPU were aligned. */
	uint64_t aligned;
};

struct dumps_options {
	struct tracker *tracker;
	struct unwind_tables *tables;
	/* The machine that ran the samples; 0: this one. */
	enum unwind_machine machine;
	/*
	 * The events whose rings have the copies; NULL: each sample has its own copy, as in a
	 * perf.data file.
	 */
	struct perf_events *events;
};

struct dumps;

/* The options' objects must outlive the dumps. Returns 0 or -ENOMEM. */
int dumps_new(const struct dumps_options *options, struct dumps **ret_dumps);
struct dumps *dumps_free(struct dumps *dumps);
DEFINE_CLEANUP(dumps, struct dumps *, dumps_free)

/* Begins a run of samples: takes new unwind tables, and shows the rings. Returns 0 or -ENOMEM. */
int dumps_begin(struct dumps *dumps);
/*
 * Finds the copy of a SAMPLE record's stack, and begins to walk it. The record stays in place until
 * dumps_apply(). At most DUMPS_AHEAD records may wait for that. Returns 0 or -ENOMEM.
 */
int dumps_prefetch(struct dumps *dumps, struct perf_record *record);
/*
 * Completes the walk of the next prefetched sample: replaces the callers of the record, if its
 * stack has a copy.
 */
void dumps_walk(struct dumps *dumps, struct perf_record *record);
/*
 * Counts the next walked sample. Walks its stack again if the mappings have changed since the
 * prefetch; then returns 1, and the caller must forget what it made of the callers. Returns 0 or
 * -ENOMEM otherwise.
 */
int dumps_apply(struct dumps *dumps, struct perf_record *record);
/*
 * Ends the run. No sample of a later run may be older than before_ns. Gives the ring space of
 * copies that are too old for such samples back to the kernel.
 */
void dumps_end(struct dumps *dumps, uint64_t before_ns);

/* Aligns the timers of CPUs that have moved apart. Call it once per turn. */
void dumps_align(struct dumps *dumps);

void dumps_counts(const struct dumps *dumps, struct dumps_counts *ret_counts);
/* Returns how walks ended. Valid until the dumps are freed. */
const struct dump_walk *dumps_walks(const struct dumps *dumps);
