// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/cpu-watch.h"

#include <signal.h>

#include "base/clock.h"
#include "base/mutation.h"
#include "recorder/perf/clock-reading.h"
#include "recorder/procs/proc-reader.h"

/* A reading that took longer may be from before and after a nap of ours, and belongs to no moment.
 */
#define READING_MAX_NS (20 * NSEC_PER_MSEC)

/* No turn follows that could make up for a reading that took too long. */
#define LAST_READINGS 5

#define STAT_LIMIT (16u << 20)

/* All processes at the start, when nothing is in the rings yet; and what a turn may wait for: the
 * rings hold some seconds more. */
#define START_NS (60 * NSEC_PER_SEC)
#define START_EACH_NS (2 * NSEC_PER_SEC)
#define TURN_NS (5 * NSEC_PER_SEC)
#define TURN_EACH_NS (200 * NSEC_PER_MSEC)

void cpu_watch_init(struct cpu_watch *watch)
{
	source_file_init(&watch->stat, "", "/proc/stat");
	source_file_init(&watch->limit, "", "/proc/sys/kernel/perf_event_max_sample_rate");
}

/* Without a reader, for want of memory or threads, the tracker reads itself. */
void cpu_watch_start(struct cpu_watch *watch, struct tracker *tracker, const volatile int *stop)
{
	if (proc_reader_new(&watch->reader) == 0) {
		proc_reader_allow(watch->reader, START_NS, START_EACH_NS);
		proc_reader_hurry(watch->reader, stop);
	}
	tracker->reader = watch->reader;
	tracker->read_cgroup = cgroup_read;
}

void cpu_watch_done(struct cpu_watch *watch)
{
	proc_reader_free(watch->reader);
	source_file_done(&watch->stat);
	source_file_done(&watch->limit);
	cpu_idle_done(&watch->idle);
}

/* Idle times are of the moment at which they are read, which is a little after the last anchor.
 * Returns 1 when the reading took too long. */
static int read_idle(struct cpu_watch *watch, struct pipeline *assembler)
{
	const struct tape_anchor *anchor = pipeline_last_anchor(assembler);
	uint64_t before_ns, after_ns;
	int r;

	before_ns = clock_ns(CLOCK_MONOTONIC);
	r = source_file_read(&watch->stat, STAT_LIMIT);
	if (r == 0)
		r = cpu_idle_parse(watch->stat.text, &watch->idle);
	after_ns = clock_ns(CLOCK_MONOTONIC);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (after_ns - before_ns > READING_MAX_NS)
		return 1;
	watch->idle.time_ns = anchor->perf_ns + (before_ns - anchor->monotonic_ns);
	return losses_idle(&assembler->losses, &watch->idle);
}

static int look_at_idle(struct cpu_watch *watch, struct pipeline *assembler)
{
	int r;

	if (!assembler->losses.period_ns || losses_waiting(&assembler->losses))
		return 0;
	r = read_idle(watch, assembler);
	return MIN(r, 0);
}

int cpu_watch_last_idle(struct cpu_watch *watch, struct pipeline *assembler)
{
	int r = 1;

	if (!assembler->losses.period_ns)
		return 0;
	for (int i = 0; r > 0 && i < LAST_READINGS; i++)
		r = read_idle(watch, assembler);
	return MIN(r, 0);
}

/* The kernel lowers it by itself when sampling takes too long. */
static int look_at_limit(struct cpu_watch *watch, struct pipeline *assembler)
{
	uint64_t limit;

	if (!watch->frequency || source_file_read(&watch->limit, 64) < 0)
		return 0;
	limit = strtoull(watch->limit.text, NULL, 10);
	return losses_limit(&assembler->losses, limit < watch->frequency ? MAX(limit, 1ull) : 0,
			    pipeline_last_anchor(assembler)->perf_ns);
}

int cpu_watch_count(struct perf_events *events, struct pipeline *assembler)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < assembler->losses.cpus.count; i++) {
		uint64_t count = perf_events_lost(events, i);

		/* most of these may be lost since the last anchor, if we were stopped behind it */
		r = pipeline_counted(assembler, i, count,
				     clock_reading_now(pipeline_last_anchor(assembler)));
	}
	return r;
}

int cpu_watch_look(struct cpu_watch *watch, struct perf_events *events, struct pipeline *assembler)
{
	uint64_t sequence = assembler->tape->sequence + 1;
	int r = look_at_idle(watch, assembler);

	if (watch->reader)
		proc_reader_allow(watch->reader, TURN_NS, TURN_EACH_NS);
	if (r == 0)
		r = look_at_limit(watch, assembler);
	if (r == 0 && watch->counted_sequence && watch->counted_sequence != sequence) {
		if (mutated("stop-in-turn") && sequence == 2)
			raise(SIGSTOP);
		r = cpu_watch_count(events, assembler);
	}
	watch->counted_sequence = sequence;
	return r;
}
