/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Takes records out of the rings and gives them to the pipeline. A whole drain takes place once per
 * turn and reads the clocks; between two turns, a ring that fills up is relieved.
 */

#include "recorder/files/opener.h"
#include "recorder/perf/clock-reading.h"
#include "recorder/perf/perf-events.h"
#include "recorder/pipeline/pipeline.h"
#include "recorder/run/self-stats.h"

/* From the begin of one turn to the begin of the next. */
#define DRAIN_NS NSEC_PER_SEC

struct drain {
	struct perf_events *events;
	/* NULL: files are looked for when a tape is named */
	struct opener *opener;
	struct pipeline *pipeline;
	struct pipeline_source sources[PERF_RINGS];
	struct self_stats stats;
	/* of the last whole drain: its anchor */
	struct clock_reading reading;
	/* of the monotonic clock: when the last turn began; 0: none did yet */
	uint64_t turn_ns;
};

/* Closes the events and the opener. */
void drain_done(struct drain *drain);

/*
 * Takes everything out of the rings, and reads the clocks. Where our own record was lost, no anchor
 * comes this time; the others are enough. Returns 0 or -ENOMEM.
 */
int drain_all(struct drain *drain);

/* Takes what is in rings of these kinds, a mask. Returns 0 or -ENOMEM. */
int drain_rings(struct drain *drain, unsigned int rings);

/*
 * Relieves a ring that fills up before it is time for a turn. What comes out of it is applied while
 * the cache still has it, and the clocks are not read: our own record would wake us once more.
 * Returns 0 or -ENOMEM; 1 when a turn is needed, because a tape would end, or because no sample
 * woke us but a CPU that went.
 */
int drain_relieve(struct drain *drain);

/* The perf clock at the last anchor, which must exist. */
uint64_t drain_anchor_ns(const struct drain *drain);
/* The perf clock now. The last anchor may be older than the last turn: where our record of it was
 * written on a CPU whose events are not open yet. */
uint64_t drain_now_ns(const struct drain *drain);
/* The perf clock before which no record can come any more. */
uint64_t drain_settled_ns(const struct drain *drain);
