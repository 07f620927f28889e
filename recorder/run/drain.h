/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Takes records out of the rings and gives them to the pipeline. A whole drain takes place once per
 * turn and reads the clocks; between two turns, a ring that fills up is relieved.
 */

#include "recorder/files/opener.h"
#include "recorder/files/unwind-tables.h"
#include "recorder/perf/clock-reading.h"
#include "recorder/perf/perf-events.h"
#include "recorder/pipeline/pipeline.h"
#include "recorder/run/self-stats.h"
#include "recorder/run/sideband.h"

/* Time from the begin of one turn to the begin of the next. */
#define DRAIN_NS NSEC_PER_SEC

struct drain {
	struct perf_events *events;
	/* NULL: the namer opens files, when it names a tape */
	struct opener *opener;
	/* NULL: user stacks are not walked */
	struct unwind_tables *tables;
	struct pipeline *pipeline;
	struct pipeline_source sources[PERF_RINGS];
	struct self_stats stats;
	/* the last whole drain and its anchor */
	struct clock_reading reading;
	/* empties the side-band rings */
	struct sideband sideband;
	/* when the last turn began, on the monotonic clock; 0: no turn yet */
	uint64_t turn_ns;
};

void drain_init(struct drain *drain, struct pipeline *pipeline);
/* Closes the events and the opener. */
void drain_done(struct drain *drain);

/*
 * Takes everything out of the rings and reads the clocks. If the kernel dropped our own COMM
 * record, this drain does not give an anchor; the anchors of the other drains are enough. Returns 0
 * or -ENOMEM.
 */
int drain_all(struct drain *drain);

/* Takes everything out of the rings of these kinds; `rings` is a mask. Returns 0 or -ENOMEM. */
int drain_rings(struct drain *drain, unsigned int rings);

/*
 * Empties a ring that fills up before the next turn, and applies its records while the cache still
 * holds them. Does not read the clocks, because our own COMM record would wake us again. Returns 0;
 * -ENOMEM; 1 if a turn must follow, because a tape would end, or because a CPU that went offline
 * woke us.
 */
int drain_relieve(struct drain *drain);

/* Returns the perf clock at the last anchor, which must exist. */
uint64_t drain_anchor_ns(const struct drain *drain);
/*
 * Returns the perf clock now. It may be newer than drain_anchor_ns(): the recorder makes an anchor
 * by a COMM record of its own, and the kernel writes none on a CPU whose events are not open yet.
 */
uint64_t drain_now_ns(const struct drain *drain);
/* Returns the perf clock before which no record can come any more. */
uint64_t drain_settled_ns(const struct drain *drain);
