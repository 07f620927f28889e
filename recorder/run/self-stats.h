/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What the thread that drains notices of itself on its way: how full the rings were, how late it came and how long it took, what
 * the process takes of the CPUs. Costs a few additions a record.
 */

#include <stdint.h>

#include "base/array.h"
#include "recorder/perf/perf-events.h"
#include "recorder/perf/perf-record.h"
#include "recorder/run/progress.h"

/* Of a sample with a callchain: its head, ip, ids, time, CPU, period and the number of callers. Each caller is eight bytes more. */
#define VITALS_SAMPLE_BYTES 56

/* The recent past is between two marks of this distance, and one more of it. */
#define VITALS_RECENT_NS (30 * 1000000000ull)
/* And what is called now. */
#define VITALS_NOW_NS (3 * 1000000000ull)

struct vitals_mark {
	uint64_t monotonic_ns;
	uint64_t cpu_ns;
	uint64_t samples; /* records in their rings */
	uint64_t sample_bytes;
};

/* Samples of a CPU, until there are enough to say how large they are. */
struct vitals_samples {
	uint32_t count;
	uint32_t bytes;
};

struct vitals {
	array_of(uint64_t) taken[PERF_RINGS]; /* bytes of each CPU's ring since all were empty */
	uint64_t peak_bytes[PERF_RINGS];
	array_of(struct vitals_samples) sampled; /* of each CPU */
	uint64_t largest_bytes; /* so many of one CPU in a row have been on the average */
	uint64_t deepest_bytes; /* the most that one can take; 0: not asked yet */
	struct vitals_mark marks[2]; /* the older one first */
	struct vitals_mark newer[2];
	struct vitals_mark now;
	struct vitals_mark begun; /* `now` at the begin of this drain */
	uint64_t begun_ns; /* this drain, CLOCK_MONOTONIC */
	uint64_t late_ns, late_peak_ns;
	uint64_t drain_ns, drain_peak_ns;
};

void vitals_done(struct vitals *vitals);

/* A drain begins, and should have at `due`; 0: there was no such moment. */
void vitals_begin(struct vitals *vitals, uint64_t due_ns);
/* A record that it took. 0 or -ENOMEM. */
int vitals_record(struct vitals *vitals, enum perf_ring ring, const struct perf_record_place *place,
	size_t size);
/* All that was in the rings has been taken, by a drain or between two. */
void vitals_emptied(struct vitals *vitals);
/* All that it took has been applied. */
void vitals_end(struct vitals *vitals);
/* What a rate is told of begins or ends now: at each turn. */
void vitals_mark(struct vitals *vitals);

/* Fills in what is known here; ring_bytes, frequency and what was lost are there: a ring that lost was full. */
void vitals_tell(struct vitals *vitals, struct recorder_progress *progress);
