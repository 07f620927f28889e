/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Measurements that the draining thread makes of itself: the filling of the rings, the delay and
 * the length of each drain, and the CPU time of the process. They cost a few additions per record.
 */

#include <stdint.h>

#include "base/array.h"
#include "recorder/perf/perf-events.h"
#include "recorder/perf/perf-record.h"
#include "recorder/run/progress.h"

/*
 * Size of a sample with a callchain: its header, ip, ids, time, CPU, period and number of callers.
 * Each caller adds eight bytes.
 */
#define SELF_STATS_SAMPLE_BYTES 56

/* Time between two marks. The "recent" figures cover the last one to two of these times. */
#define SELF_STATS_RECENT_NS (30 * 1000000000ull)
/* Time between two marks for "now". */
#define SELF_STATS_NOW_NS (3 * 1000000000ull)

struct self_stats_mark {
	uint64_t monotonic_ns;
	uint64_t cpu_ns;
	/* number of samples, and their size in their rings */
	uint64_t samples;
	uint64_t sample_bytes;
};

/* Samples of one CPU since the last average; SAMPLES_ROW of them make the next average. */
struct self_stats_samples {
	uint32_t count;
	uint32_t bytes;
};

struct self_stats {
	/* bytes taken from each CPU's ring since it was empty */
	array_of(uint64_t) taken[PERF_RINGS];
	uint64_t peak_bytes[PERF_RINGS];
	/* by CPU */
	array_of(struct self_stats_samples) sampled;
	/* the highest average of SAMPLES_ROW samples of one CPU */
	uint64_t largest_bytes;
	/* size of a sample with the deepest stack; 0: not computed yet */
	uint64_t deepest_bytes;
	/* the older one first */
	struct self_stats_mark marks[2];
	struct self_stats_mark newer[2];
	struct self_stats_mark now;
	/* `now` when this drain began */
	struct self_stats_mark begun;
	/* this drain, CLOCK_MONOTONIC */
	uint64_t begun_ns;
	uint64_t late_ns, late_peak_ns;
	uint64_t drain_ns, drain_peak_ns;
};

void self_stats_done(struct self_stats *stats);

/* Begins a drain. `due_ns` is the moment at which it should have begun; 0: unknown. */
void self_stats_begin(struct self_stats *stats, uint64_t due_ns);
/* Counts a record that the drain took. Returns 0 or -ENOMEM. */
int self_stats_record(struct self_stats *stats, enum perf_ring ring,
		      const struct perf_record_place *place, size_t size);
/* Notes that all rings were emptied, by a drain or between two drains. */
void self_stats_emptied(struct self_stats *stats);
/* Ends a drain, after all its records were applied. */
void self_stats_end(struct self_stats *stats);
/* Notes the present counts, from which later rates are computed. Call it once per turn. */
void self_stats_mark(struct self_stats *stats);

/*
 * Fills in these measurements. The caller sets ring_bytes, frequency and the losses first; a ring
 * that lost records was full.
 */
void self_stats_fill(struct self_stats *stats, struct recorder_progress *progress);
