// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/drain.h"

/*
 * A record costs about a microsecond, plus opening a file if it maps one. So an account counts
 * records, and a long path counts as several. A process that starts makes some dozen records, a
 * busy build 10,000 per second.
 */
static const struct account_limits drain_limits = {
	.own = { .burst = 16384, .rate = 2048 },
	.sure = { .burst = 512, .rate = 16 },
	.all = { .burst = 65536, .rate = 16384 },
};

/* The bytes of a usual record. */
#define USUAL_BYTES 256

void drain_init(struct drain *drain, struct pipeline *pipeline)
{
	drain->pipeline = pipeline;
	accounts_init(&drain->sideband, &drain_limits);
}

/* Returns false if the process of a side-band record made too many. */
static bool drain_admit(struct drain *drain, const uint8_t *bytes, size_t size)
{
	int32_t pid = perf_record_actor(bytes, size);

	return !pid || accounts_take(&drain->sideband, pid, 1 + size / USUAL_BYTES);
}

/* Counts the refused records of a turn. */
static int drain_count_refused(struct drain *drain)
{
	struct account *account = drain->sideband.list.items;
	int r = 0;

	for (size_t i = 0; r == 0 && i < drain->sideband.list.count; i++, account++) {
		if (!account->refused)
			continue;
		r = tracker_refuse(&drain->pipeline->tracker, account->key, account->refused);
		account->refused = 0;
	}
	return r;
}

/* Handles a side-band record before it is applied, so that a mapped file is opened at once. */
static void drain_see_sideband(struct drain *drain, const uint8_t *bytes, size_t size)
{
	const struct perf_layout *layout = perf_events_layout(drain->events, PERF_RING_SIDEBAND);
	struct perf_record record;

	if (perf_record_decode(layout, bytes, size, &record) != 0)
		return;
	if (drain->opener)
		opener_see(drain->opener, &record);
	tracker_note_exec(&drain->pipeline->tracker, &record);
	clock_reading_observe(&drain->reading, &record);
}

static int drain_take(void *context, enum perf_ring ring, const uint8_t *bytes, size_t size)
{
	struct drain *drain = context;
	struct perf_record_place place =
		perf_record_place(drain->sources[ring].layout, bytes, size);

	if (ring == PERF_RING_SIDEBAND && !drain_admit(drain, bytes, size))
		return self_stats_record(&drain->stats, ring, &place, size);
	if (ring == PERF_RING_SIDEBAND)
		drain_see_sideband(drain, bytes, size);
	if (self_stats_record(&drain->stats, ring, &place, size) < 0)
		return -ENOMEM;
	return pipeline_add(drain->pipeline, ring, &place, bytes, size);
}

int drain_rings(struct drain *drain, unsigned int rings)
{
	int r = perf_events_drain(drain->events, rings, drain_take, drain);

	self_stats_emptied(&drain->stats);
	tracker_read_exec_cgroups(&drain->pipeline->tracker);
	if (drain->opener)
		opener_turn(drain->opener);
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
	if (r == 0)
		r = drain_count_refused(drain);
	accounts_begin(&drain->sideband);
	if (r == 0 && drain->reading.complete)
		r = pipeline_anchor(drain->pipeline, &drain->reading.anchor);
	return r;
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
	perf_events_close(drain->events);
	opener_free(drain->opener);
	self_stats_done(&drain->stats);
	accounts_done(&drain->sideband);
}
