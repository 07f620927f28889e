/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What is looked at with each drain, beside the rings: how long each CPU idled, how many samples
 * the kernel allows, and once a segment, what it counted as lost. Nobody can wait for the limit to
 * change, so when it did is known to a second; the samples that did not come are counted by
 * themselves. It has the reader through which the tracker asks /proc.
 */

#include "gauges/source.h"
#include "recorder/pipeline/pipeline.h"
#include "recorder/perf/perf-events.h"

struct cpu_watch {
	/* that was asked for; 0: it is not a matter of frequency */
	uint64_t frequency;
	/* the rest is watch.c's */
	struct source_file stat, limit;
	struct cpu_idle idle;
	struct proc_reader *reader;
	/* of the tape at hand when it was counted last, + 1 */
	uint64_t counted_sequence;
};

void cpu_watch_init(struct cpu_watch *watch);
/* From now on the tracker asks /proc who runs where, and is held up by nothing, least of all when
 * *stop is not 0. */
void cpu_watch_start(struct cpu_watch *watch, struct tracker *tracker, const volatile int *stop);
void cpu_watch_done(struct cpu_watch *watch);

/* After a drain. 0 or -ENOMEM; what cannot be read is not known. */
int cpu_watch_look(struct cpu_watch *watch, struct perf_events *events, struct pipeline *assembler);
/*
 * Reads once more how long each CPU idled, so that the samples that were due after the last turn
 * count, too. Call it before the events stop. Returns 0 or -ENOMEM.
 */
int cpu_watch_last_idle(struct cpu_watch *watch, struct pipeline *assembler);
/* What was lost of all CPUs and not told yet. */
int cpu_watch_count(struct perf_events *events, struct pipeline *assembler);
