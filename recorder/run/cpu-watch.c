// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/cpu-watch.h"

#include <signal.h>

#include "base/clock.h"
#include "base/mutation.h"
#include "recorder/perf/clock-reading.h"
#include "recorder/procs/proc-reader.h"

/*
 * A reading that takes longer is not used: the thread may have slept, so its moment is uncertain.
 */
#define READING_MAX_NS (20 * NSEC_PER_MSEC)

/* After the last turn, no turn follows that could make up for a slow reading, so repeat it. */
#define LAST_READINGS 5

#define STAT_LIMIT (16u << 20)

/*
 * Time for all reads of /proc together, and for each read. The start may take long, because the
 * rings are still empty. In a turn they have room for only a few seconds more.
 */
#define START_NS (60 * NSEC_PER_SEC)
#define START_EACH_NS (2 * NSEC_PER_SEC)
#define TURN_NS (5 * NSEC_PER_SEC)
#define TURN_EACH_NS (200 * NSEC_PER_MSEC)

void cpu_watch_init(struct cpu_watch *watch)
{
	source_file_init(&watch->stat, "", "/proc/stat");
	source_file_init(&watch->limit, "", "/proc/sys/kernel/perf_event_max_sample_rate");
}

/* Without memory or a thread for a reader, the tracker reads /proc itself. */
void cpu_watch_start(struct cpu_watch *watch, struct tracker *tracker,
		     const volatile sig_atomic_t *stop)
{
	if (proc_reader_new(&watch->reader) == 0) {
		proc_reader_allow(watch->reader, START_NS, START_EACH_NS);
		proc_reader_set_stop(watch->reader, stop);
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

/*
 * Stamps the idle times with the moment of the reading, which is a little after the last anchor.
 * Returns 0, -ENOMEM, or 1 when the reading took too long.
 */
static int read_idle(struct cpu_watch *watch, struct pipeline *pipeline)
{
	const struct tape_anchor *anchor = pipeline_last_anchor(pipeline);
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
	return losses_set_idle(&pipeline->losses, &watch->idle);
}

static int update_idle(struct cpu_watch *watch, struct pipeline *pipeline)
{
	int r;

	if (!pipeline->losses.period_ns || losses_settle_at(&pipeline->losses))
		return 0;
	r = read_idle(watch, pipeline);
	return MIN(r, 0);
}

int cpu_watch_last_idle(struct cpu_watch *watch, struct pipeline *pipeline)
{
	int r = 1;

	if (!pipeline->losses.period_ns)
		return 0;
	for (int i = 0; r > 0 && i < LAST_READINGS; i++)
		r = read_idle(watch, pipeline);
	return MIN(r, 0);
}

/* The kernel lowers the limit by itself when sampling takes too long. */
static int update_limit(struct cpu_watch *watch, struct pipeline *pipeline)
{
	uint64_t limit;

	if (!watch->frequency || source_file_read(&watch->limit, 64) < 0)
		return 0;
	limit = strtoull(watch->limit.text, NULL, 10);
	return losses_limit(&pipeline->losses, limit < watch->frequency ? MAX(limit, 1ull) : 0,
			    pipeline_last_anchor(pipeline)->perf_ns);
}

int cpu_watch_count(struct perf_events *events, struct pipeline *pipeline)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < pipeline->losses.cpus.count; i++) {
		uint64_t count = perf_events_lost(events, i);

		/*
		 * if the recorder was stopped after the last anchor, most of these samples were
		 * lost since then
		 */
		r = pipeline_counted(pipeline, i, count,
				     clock_reading_now(pipeline_last_anchor(pipeline)));
	}
	return r;
}

static int cpu_watch_count_last(struct cpu_watch *watch, struct perf_events *events,
				struct pipeline *pipeline, uint64_t sequence)
{
	int r = update_limit(watch, pipeline);

	if (r < 0 || !watch->counted_sequence || watch->counted_sequence == sequence)
		return r;
	if (mutated("stop-in-turn") && sequence == 2)
		raise(SIGSTOP);
	return cpu_watch_count(events, pipeline);
}

int cpu_watch_update(struct cpu_watch *watch, struct perf_events *events, struct pipeline *pipeline)
{
	uint64_t sequence = pipeline->tape->sequence + 1;
	int r = update_idle(watch, pipeline);

	if (watch->reader)
		proc_reader_allow(watch->reader, TURN_NS, TURN_EACH_NS);
	if (r == 0)
		r = cpu_watch_count_last(watch, events, pipeline, sequence);
	watch->counted_sequence = sequence;
	return r;
}
