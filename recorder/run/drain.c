// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/drain.h"

void drain_init(struct drain *drain, struct pipeline *pipeline)
{
	drain->pipeline = pipeline;
	sideband_init(&drain->sideband);
}

/* Returns the owner of the process that maps a file; 0 for other records. */
static uint64_t drain_owner(const struct drain *drain, const struct perf_record *record)
{
	if (record->type != PERF_TYPE_MMAP && record->type != PERF_TYPE_MMAP2)
		return 0;
	return tracker_owner(&drain->pipeline->tracker, record->mmap.pid);
}

/* Handles a side-band record before it is applied, so that a mapped file is opened at once. */
static void drain_see_sideband(struct drain *drain, const uint8_t *bytes, size_t size)
{
	const struct perf_layout *layout = perf_events_layout(drain->events, PERF_RING_SIDEBAND);
	struct perf_record record;

	if (perf_record_decode(layout, bytes, size, &record) != 0)
		return;
	if (drain->opener)
		opener_see(drain->opener, &record, drain_owner(drain, &record));
	if (drain->tables)
		unwind_tables_see(drain->tables, &record);
	tracker_note_exec(&drain->pipeline->tracker, &record);
	clock_reading_observe(&drain->reading, &record);
}

static int drain_take(void *context, enum perf_ring ring, const uint8_t *bytes, size_t size)
{
	struct drain *drain = context;
	struct perf_record_place place =
		perf_record_place(drain->sources[ring].layout, bytes, size);

	if (self_stats_record(&drain->stats, ring, &place, size) < 0)
		return -ENOMEM;
	return pipeline_add(drain->pipeline, ring, &place, bytes, size);
}

static int drain_take_sideband(void *context, const uint8_t *bytes, size_t size)
{
	struct drain *drain = context;
	struct perf_record_place place =
		perf_record_place(drain->sources[PERF_RING_SIDEBAND].layout, bytes, size);

	drain_see_sideband(drain, bytes, size);
	return pipeline_add(drain->pipeline, PERF_RING_SIDEBAND, &place, bytes, size);
}

int drain_rings(struct drain *drain, unsigned int rings)
{
	unsigned int others = rings & ~(1u << PERF_RING_SIDEBAND);
	int r = perf_events_drain(drain->events, others, drain_take, drain);

	if (r == 0 && rings != others)
		r = sideband_drain(&drain->sideband, rings == PERF_ALL_RINGS, drain_take_sideband,
				   drain);
	self_stats_emptied(&drain->stats);
	tracker_read_exec_cgroups(&drain->pipeline->tracker);
	if (drain->opener)
		opener_turn(drain->opener, &drain->pipeline->tracker);
	return r;
}

static void drain_begin(struct drain *drain)
{
	self_stats_begin(&drain->stats, drain->turn_ns ? drain->turn_ns + DRAIN_NS : 0);
}

int drain_all(struct drain *drain)
{
	int r;

	drain_begin(drain);
	clock_reading_begin(&drain->reading);
	/* ignore the wake-up for our own record, and for records that we take now anyway */
	perf_events_wait(drain->events, 0);
	r = drain_rings(drain, PERF_ALL_RINGS);
	if (r < 0)
		return r;
	r = sideband_renew(&drain->sideband, &drain->pipeline->tracker,
			   &drain->stats.peak_bytes[PERF_RING_SIDEBAND]);
	if (r < 0)
		return r;
	if (drain->reading.complete)
		return pipeline_anchor(drain->pipeline, &drain->reading.anchor);
	return 0;
}

int drain_relieve(struct drain *drain)
{
	uint64_t samples = drain->stats.now.samples;
	int r;

	drain_begin(drain);
	r = drain_rings(drain, PERF_ALL_RINGS);
	self_stats_end(&drain->stats);
	if (r < 0)
		return r;
	if (drain->stats.now.samples == samples ||
	    drain_settled_ns(drain) >= drain->pipeline->tape->end_ns)
		return 1;
	return pipeline_flush(drain->pipeline, drain_settled_ns(drain));
}

uint64_t drain_anchor_ns(const struct drain *drain)
{
	return pipeline_last_anchor(drain->pipeline)->perf_ns;
}

uint64_t drain_now_ns(const struct drain *drain)
{
	return clock_reading_now(pipeline_last_anchor(drain->pipeline));
}

uint64_t drain_settled_ns(const struct drain *drain)
{
	return clock_reading_settled(pipeline_last_anchor(drain->pipeline), drain->stats.begun_ns);
}

void drain_done(struct drain *drain)
{
	sideband_done(&drain->sideband);
	perf_events_close(drain->events);
	opener_free(drain->opener);
	self_stats_done(&drain->stats);
}
