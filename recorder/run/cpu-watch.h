/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Looks at the CPUs with each drain: how long each CPU was idle, and how many samples per second
 * the kernel allows. Once per segment, reads how many samples the kernel counted as lost. The
 * kernel does not notify anybody when the limit changes, so the time of the change is known to a
 * second. The object also owns the reader through which the tracker reads /proc.
 */

#include <signal.h>

#include "gauges/source.h"
#include "recorder/pipeline/pipeline.h"
#include "recorder/perf/perf-events.h"

struct cpu_watch {
	/* requested samples per second; 0: the event has no frequency */
	uint64_t frequency;
	/* the members below are private to cpu-watch.c */
	struct source_file stat, limit;
	struct cpu_idle idle;
	struct proc_reader *reader;
	/* the current tape when losses were last counted, + 1 */
	uint64_t counted_sequence;
};

void cpu_watch_init(struct cpu_watch *watch);
/*
 * From now on the tracker reads /proc through a thread that cannot delay the drain, least of all
 * when *stop is not 0.
 */
void cpu_watch_start(struct cpu_watch *watch, struct tracker *tracker,
		     const volatile sig_atomic_t *stop);
void cpu_watch_done(struct cpu_watch *watch);

/* Call it after a drain. Returns 0 or -ENOMEM; a file that cannot be read is ignored. */
int cpu_watch_update(struct cpu_watch *watch, struct perf_events *events,
		     struct pipeline *pipeline);
/*
 * Reads once more how long each CPU idled, so that the samples that were due after the last turn
 * count, too. Call it before the events stop. Returns 0 or -ENOMEM.
 */
int cpu_watch_last_idle(struct cpu_watch *watch, struct pipeline *pipeline);
/* Adds the samples that were lost on all CPUs and not counted yet. Returns 0 or -ENOMEM. */
int cpu_watch_count(struct perf_events *events, struct pipeline *pipeline);
