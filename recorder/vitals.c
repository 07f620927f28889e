// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/vitals.h"

#include "base/clock.h"

/* Fewer samples say nothing about how large they are. */
#define SAMPLES_MIN 20

/* A record that names no CPU counts for the first one. */
#define CPUS_MAX 65536

void vitals_done(struct vitals *vitals)
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		array_done(&vitals->taken[ring]);
}

void vitals_begin(struct vitals *vitals, uint64_t due_ns)
{
	vitals->begun_ns = clock_ns(CLOCK_MONOTONIC);
	vitals->late_ns = due_ns ? vitals->begun_ns - MIN(due_ns, vitals->begun_ns) : 0;
	vitals->begun = vitals->now;
	vitals->late_peak_ns = MAX(vitals->late_peak_ns, vitals->late_ns);
}

int vitals_record(struct vitals *vitals, enum perf_ring ring, const struct perf_record_place *place,
	size_t size)
{
	size_t at = place->cpu < CPUS_MAX ? place->cpu : 0;

	while (vitals->taken[ring].count <= at)
		if (array_push(&vitals->taken[ring], 0) < 0)
			return -ENOMEM;
	vitals->taken[ring].items[at] += size;
	/* throttling is told in the same ring */
	if (ring == PERF_RING_SAMPLES && place->sample) {
		vitals->now.samples++;
		vitals->now.sample_bytes += size;
	}
	return 0;
}

void vitals_emptied(struct vitals *vitals)
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		for (size_t i = 0; i < vitals->taken[ring].count; i++) {
			vitals->peak_bytes[ring] =
				MAX(vitals->peak_bytes[ring], vitals->taken[ring].items[i]);
			vitals->taken[ring].items[i] = 0;
		}
}

static void measure_samples(struct vitals *vitals)
{
	uint64_t count = vitals->now.samples - vitals->begun.samples;
	uint64_t bytes = vitals->now.sample_bytes - vitals->begun.sample_bytes;

	if (count >= SAMPLES_MIN)
		vitals->largest_bytes = MAX(vitals->largest_bytes, bytes / count);
}

static void move_marks(
	struct vitals_mark marks[2], const struct vitals_mark *now, uint64_t apart_ns)
{
	if (!marks[0].monotonic_ns)
		marks[0] = marks[1] = *now;
	if (now->monotonic_ns - marks[1].monotonic_ns < apart_ns)
		return;
	marks[0] = marks[1];
	marks[1] = *now;
}

void vitals_end(struct vitals *vitals)
{
	vitals->now.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	vitals->drain_ns = vitals->now.monotonic_ns - vitals->begun_ns;
	vitals->drain_peak_ns = MAX(vitals->drain_peak_ns, vitals->drain_ns);
	measure_samples(vitals);
}

void vitals_mark(struct vitals *vitals)
{
	/* asking for it is a call of the kernel, which adds up all threads */
	vitals->now.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	move_marks(vitals->marks, &vitals->now, VITALS_RECENT_NS);
	move_marks(vitals->newer, &vitals->now, VITALS_NOW_NS);
}

void vitals_tell(const struct vitals *vitals, struct recorder_progress *progress)
{
	const struct vitals_mark *then = &vitals->marks[0], *now = &vitals->now;

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
	progress->rides_out_ns = vitals->largest_bytes && progress->frequency
					 ? progress->ring_bytes * NSEC_PER_SEC /
						   (vitals->largest_bytes * progress->frequency)
					 : 0;
	progress->late_ns = vitals->late_ns;
	progress->late_peak_ns = vitals->late_peak_ns;
	progress->drain_ns = vitals->drain_ns;
	progress->drain_peak_ns = vitals->drain_peak_ns;
}
