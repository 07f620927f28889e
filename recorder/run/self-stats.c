// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/self-stats.h"

#include <linux/perf_event.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mutation.h"

/* Number of samples of a CPU over which their size is averaged. */
#define SAMPLES_ROW 20

/*
 * A callchain also has two marks: one at the begin of the kernel's part, and one at the begin of
 * the user's part.
 */
#define CHAIN_MARKS 2

/* A sample whose CPU number is larger or unknown counts for the first CPU. */
#define CPUS_MAX 65536

void self_stats_done(struct self_stats *stats)
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		array_done(&stats->taken[ring]);
	array_done(&stats->sampled);
}

void self_stats_begin(struct self_stats *stats, uint64_t due_ns)
{
	stats->begun_ns = clock_ns(CLOCK_MONOTONIC);
	stats->late_ns = due_ns ? stats->begun_ns - MIN(due_ns, stats->begun_ns) : 0;
	stats->begun = stats->now;
	stats->late_peak_ns = MAX(stats->late_peak_ns, stats->late_ns);
}

static int self_stats_add_sample(struct self_stats *stats, size_t cpu, size_t size)
{
	struct self_stats_samples *of;

	while (stats->sampled.count <= cpu)
		if (array_push(&stats->sampled, (struct self_stats_samples){ 0 }) < 0)
			return -ENOMEM;
	of = &stats->sampled.items[cpu];
	of->bytes += size;
	if (++of->count == SAMPLES_ROW) {
		stats->largest_bytes = MAX(stats->largest_bytes, of->bytes / SAMPLES_ROW);
		*of = (struct self_stats_samples){ 0 };
	}
	stats->now.samples++;
	stats->now.sample_bytes += size;
	return 0;
}

int self_stats_record(struct self_stats *stats, enum perf_ring ring,
		      const struct perf_record_place *place, size_t size)
{
	size_t at = place->cpu < CPUS_MAX ? place->cpu : 0;

	while (stats->taken[ring].count <= at)
		if (array_push(&stats->taken[ring], 0) < 0)
			return -ENOMEM;
	stats->taken[ring].items[at] += size;
	/* check the type, because the ring of samples also has throttling records */
	return ring == PERF_RING_SAMPLES && place->sample ? self_stats_add_sample(stats, at, size)
							  : 0;
}

void self_stats_emptied(struct self_stats *stats)
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		for (size_t i = 0; i < stats->taken[ring].count; i++) {
			stats->peak_bytes[ring] =
				MAX(stats->peak_bytes[ring], stats->taken[ring].items[i]);
			stats->taken[ring].items[i] = 0;
		}
}

static void move_marks(struct self_stats_mark marks[2], const struct self_stats_mark *now,
		       uint64_t apart_ns)
{
	if (!marks[0].monotonic_ns)
		marks[0] = marks[1] = *now;
	if (now->monotonic_ns - marks[1].monotonic_ns < apart_ns)
		return;
	marks[0] = marks[1];
	marks[1] = *now;
}

void self_stats_end(struct self_stats *stats)
{
	stats->now.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	stats->drain_ns = stats->now.monotonic_ns - stats->begun_ns;
	stats->drain_peak_ns = MAX(stats->drain_peak_ns, stats->drain_ns);
}

void self_stats_mark(struct self_stats *stats)
{
	/* this system call adds up all threads, so make it only once per turn */
	stats->now.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	move_marks(stats->marks, &stats->now, SELF_STATS_RECENT_NS);
	move_marks(stats->newer, &stats->now, SELF_STATS_NOW_NS);
}

static uint64_t find_deepest(void)
{
	uint64_t callers = PERF_MAX_STACK_DEPTH;
	_cleanup_free_ char *text = NULL;

	if (file_read("/proc/sys/kernel/perf_event_max_stack", 64, &text, NULL) == 0)
		callers = strtoull(text, NULL, 10);
	return SELF_STATS_SAMPLE_BYTES + (callers + CHAIN_MARKS) * sizeof(uint64_t);
}

/* Returns how long a ring holds one CPU's samples of that size. */
static uint64_t rides_out_ns(const struct recorder_progress *progress, uint64_t sample_bytes)
{
	if (!sample_bytes || !progress->frequency)
		return 0;
	return progress->ring_bytes * NSEC_PER_SEC / (sample_bytes * progress->frequency);
}

/*
 * The kernel loses records only if a ring is full, so a loss proves a full ring. The kernel also
 * writes during a drain, so a drain may take more bytes than the size of the ring.
 */
static uint64_t peak_of(const struct self_stats *stats, enum perf_ring ring,
			const struct recorder_progress *progress, uint64_t lost)
{
	return lost ? progress->ring_bytes : MIN(stats->peak_bytes[ring], progress->ring_bytes);
}

void self_stats_fill(struct self_stats *stats, struct recorder_progress *progress)
{
	const struct self_stats_mark *then = &stats->marks[0], *now = &stats->now;

	if (mutated("forget-cost"))
		return;
	progress->cpu_ns = now->cpu_ns;
	progress->recent_ns = now->monotonic_ns - then->monotonic_ns;
	progress->recent_cpu_ns = now->cpu_ns - then->cpu_ns;
	progress->recent_samples = now->samples - then->samples;
	progress->now_ns = now->monotonic_ns - stats->newer[0].monotonic_ns;
	progress->now_samples = now->samples - stats->newer[0].samples;
	progress->sample_bytes =
		progress->recent_samples
			? (now->sample_bytes - then->sample_bytes) / progress->recent_samples
			: 0;
	progress->ring_peak_bytes = peak_of(stats, PERF_RING_SAMPLES, progress, progress->lost);
	progress->sideband_peak_bytes =
		peak_of(stats, PERF_RING_SIDEBAND, progress, progress->lost_sideband);
	if (!stats->deepest_bytes)
		stats->deepest_bytes = find_deepest();
	progress->rides_out_ns = rides_out_ns(progress, stats->largest_bytes);
	progress->rides_out_least_ns = rides_out_ns(progress, stats->deepest_bytes);
	progress->late_ns = stats->late_ns;
	progress->late_peak_ns = stats->late_peak_ns;
	progress->drain_ns = stats->drain_ns;
	progress->drain_peak_ns = stats->drain_peak_ns;
}
