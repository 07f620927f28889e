/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What the thread that drains notices of itself on its way: how full the rings were, how late it
 * came and how long it took, what the process takes of the CPUs. Costs a few additions a record.
 */

#include <stdint.h>

#include "base/array.h"
#include "recorder/perf/perf-events.h"
#include "recorder/perf/perf-record.h"
#include "recorder/run/progress.h"

/* Of a sample with a callchain: its head, ip, ids, time, CPU, period and the number of callers.
 * Each caller is eight bytes more. */
#define SELF_STATS_SAMPLE_BYTES 56

/* The recent past is between two marks of this distance, and one more of it. */
#define SELF_STATS_RECENT_NS (30 * 1000000000ull)
/* And what is called now. */
#define SELF_STATS_NOW_NS (3 * 1000000000ull)

struct self_stats_mark {
	uint64_t monotonic_ns;
	uint64_t cpu_ns;
	/* records in their rings */
	uint64_t samples;
	uint64_t sample_bytes;
};

/* Samples of a CPU, until there are enough to say how large they are. */
struct self_stats_samples {
	uint32_t count;
	uint32_t bytes;
};

struct self_stats {
	/* bytes of each CPU's ring since all were empty */
	array_of(uint64_t) taken[PERF_RINGS];
	uint64_t peak_bytes[PERF_RINGS];
	/* of each CPU */
	array_of(struct self_stats_samples) sampled;
	/* so many of one CPU in a row have been on the average */
	uint64_t largest_bytes;
	/* the most that one can take; 0: not asked yet */
	uint64_t deepest_bytes;
	/* the older one first */
	struct self_stats_mark marks[2];
	struct self_stats_mark newer[2];
	struct self_stats_mark now;
	/* `now` at the begin of this drain */
	struct self_stats_mark begun;
	/* this drain, CLOCK_MONOTONIC */
	uint64_t begun_ns;
	uint64_t late_ns, late_peak_ns;
	uint64_t drain_ns, drain_peak_ns;
};

void self_stats_done(struct self_stats *vitals);

/* A drain begins, and should have at `due`; 0: there was no such moment. */
void self_stats_begin(struct self_stats *vitals, uint64_t due_ns);
/* A record that it took. 0 or -ENOMEM. */
int self_stats_record(struct self_stats *vitals, enum perf_ring ring,
		      const struct perf_record_place *place, size_t size);
/* All that was in the rings has been taken, by a drain or between two. */
void self_stats_emptied(struct self_stats *vitals);
/* All that it took has been applied. */
void self_stats_end(struct self_stats *vitals);
/* What a rate is told of begins or ends now: at each turn. */
void self_stats_mark(struct self_stats *vitals);

/* Fills in what is known here; ring_bytes, frequency and what was lost are there: a ring that lost
 * was full. */
void self_stats_tell(struct self_stats *vitals, struct recorder_progress *progress);
