/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Looks at the CPUs with each drain: how long each CPU was idle, and how many samples per second
 * the kernel allows. Once per segment, reads how many samples the kernel counted as lost. The
 * kernel does not report a change of the limit, so the time of the change is known to a second. The
 * object also owns the reader through which the tracker reads /proc.
 */

#include <signal.h>

#include "gauges/source.h"
#include "recorder/pipeline/pipeline.h"
#include "recorder/perf/perf-events.h"

struct cpu_watch {
	/* requested samples per second; 0: the event does not have a frequency */
	uint64_t frequency;
	/* the members below are private to cpu-watch.c */
	struct source_file stat, limit;
	struct cpu_idle idle;
	struct proc_reader *reader;
	/* sequence number of the tape in which losses were last counted, + 1; 0: not counted yet */
	uint64_t counted_sequence;
};

void cpu_watch_init(struct cpu_watch *watch);
/*
 * From now on the tracker reads /proc through a thread, so that a slow read cannot delay the drain
 * for long. While *stop is not 0, the tracker waits even less.
 */
void cpu_watch_start(struct cpu_watch *watch, struct tracker *tracker,
		     const volatile sig_atomic_t *stop);
void cpu_watch_done(struct cpu_watch *watch);

/* Call it after a drain. Returns 0 or -ENOMEM; a file that cannot be read is ignored. */
int cpu_watch_update(struct cpu_watch *watch, struct perf_events *events,
		     struct pipeline *pipeline);
/*
 * Reads the idle times once more, so that samples that were due after the last turn can count as
 * skipped. Call it before the events stop. Returns 0 or -ENOMEM.
 */
int cpu_watch_last_idle(struct cpu_watch *watch, struct pipeline *pipeline);
/* Adds the samples that were lost on all CPUs and not counted yet. Returns 0 or -ENOMEM. */
int cpu_watch_count(struct perf_events *events, struct pipeline *pipeline);
