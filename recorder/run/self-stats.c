// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/self-stats.h"

#include <linux/perf_event.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mutation.h"

/* So many in a row say how large those of a CPU are. */
#define SAMPLES_ROW 20

/* What is in a callchain beside the callers: where the kernel ends, and where the program begins.
 */
#define CHAIN_MARKS 2

/* A record that names no CPU counts for the first one. */
#define CPUS_MAX 65536

void self_stats_done(struct self_stats *vitals)
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		array_done(&vitals->taken[ring]);
	array_done(&vitals->sampled);
}

void self_stats_begin(struct self_stats *vitals, uint64_t due_ns)
{
	vitals->begun_ns = clock_ns(CLOCK_MONOTONIC);
	vitals->late_ns = due_ns ? vitals->begun_ns - MIN(due_ns, vitals->begun_ns) : 0;
	vitals->begun = vitals->now;
	vitals->late_peak_ns = MAX(vitals->late_peak_ns, vitals->late_ns);
}

static int self_stats_add_sample(struct self_stats *vitals, size_t cpu, size_t size)
{
	struct self_stats_samples *of;

	while (vitals->sampled.count <= cpu)
		if (array_push(&vitals->sampled, (struct self_stats_samples){ 0 }) < 0)
			return -ENOMEM;
	of = &vitals->sampled.items[cpu];
	of->bytes += size;
	if (++of->count == SAMPLES_ROW) {
		vitals->largest_bytes = MAX(vitals->largest_bytes, of->bytes / SAMPLES_ROW);
		*of = (struct self_stats_samples){ 0 };
	}
	vitals->now.samples++;
	vitals->now.sample_bytes += size;
	return 0;
}

int self_stats_record(struct self_stats *vitals, enum perf_ring ring,
		      const struct perf_record_place *place, size_t size)
{
	size_t at = place->cpu < CPUS_MAX ? place->cpu : 0;

	while (vitals->taken[ring].count <= at)
		if (array_push(&vitals->taken[ring], 0) < 0)
			return -ENOMEM;
	vitals->taken[ring].items[at] += size;
	/* throttling is told in the same ring */
	return ring == PERF_RING_SAMPLES && place->sample ? self_stats_add_sample(vitals, at, size)
							  : 0;
}

void self_stats_emptied(struct self_stats *vitals)
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		for (size_t i = 0; i < vitals->taken[ring].count; i++) {
			vitals->peak_bytes[ring] =
				MAX(vitals->peak_bytes[ring], vitals->taken[ring].items[i]);
			vitals->taken[ring].items[i] = 0;
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

void self_stats_end(struct self_stats *vitals)
{
	vitals->now.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	vitals->drain_ns = vitals->now.monotonic_ns - vitals->begun_ns;
	vitals->drain_peak_ns = MAX(vitals->drain_peak_ns, vitals->drain_ns);
}

void self_stats_mark(struct self_stats *vitals)
{
	/* asking for it is a call of the kernel, which adds up all threads */
	vitals->now.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	move_marks(vitals->marks, &vitals->now, SELF_STATS_RECENT_NS);
	move_marks(vitals->newer, &vitals->now, SELF_STATS_NOW_NS);
}

static uint64_t find_deepest(void)
{
	uint64_t callers = PERF_MAX_STACK_DEPTH;
	_cleanup_free_ char *text = NULL;

	if (file_read("/proc/sys/kernel/perf_event_max_stack", 64, &text, NULL) == 0)
		callers = strtoull(text, NULL, 10);
	return SELF_STATS_SAMPLE_BYTES + (callers + CHAIN_MARKS) * sizeof(uint64_t);
}

/* How long a ring takes samples of one CPU that are so large. */
static uint64_t rides_out_ns(const struct recorder_progress *progress, uint64_t sample_bytes)
{
	if (!sample_bytes || !progress->frequency)
		return 0;
	return progress->ring_bytes * NSEC_PER_SEC / (sample_bytes * progress->frequency);
}

void self_stats_tell(struct self_stats *vitals, struct recorder_progress *progress)
{
	const struct self_stats_mark *then = &vitals->marks[0], *now = &vitals->now;

	if (mutated("forget-cost"))
		return;
	progress->cpu_ns = now->cpu_ns;
	progress->recent_ns = now->monotonic_ns - then->monotonic_ns;
	progress->recent_cpu_ns = now->cpu_ns - then->cpu_ns;
	progress->recent_samples = now->samples - then->samples;
	progress->now_ns = now->monotonic_ns - vitals->newer[0].monotonic_ns;
	progress->now_samples = now->samples - vitals->newer[0].samples;
	progress->sample_bytes =
		progress->recent_samples
			? (now->sample_bytes - then->sample_bytes) / progress->recent_samples
			: 0;
	progress->ring_peak_bytes =
		progress->lost ? progress->ring_bytes : vitals->peak_bytes[PERF_RING_SAMPLES];
	progress->sideband_peak_bytes = progress->lost_sideband
						? progress->ring_bytes
						: vitals->peak_bytes[PERF_RING_SIDEBAND];
	if (!vitals->deepest_bytes)
		vitals->deepest_bytes = find_deepest();
	progress->rides_out_ns = rides_out_ns(progress, vitals->largest_bytes);
	progress->rides_out_least_ns = rides_out_ns(progress, vitals->deepest_bytes);
	progress->late_ns = vitals->late_ns;
	progress->late_peak_ns = vitals->late_peak_ns;
	progress->drain_ns = vitals->drain_ns;
	progress->drain_peak_ns = vitals->drain_peak_ns;
}
