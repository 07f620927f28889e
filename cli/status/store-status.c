// SPDX-License-Identifier: GPL-2.0-only
#include "cli/status/store-status.h"

#include "base/clock.h"
#include "cli/answer/host-name.h"
#include "query/read/recorded.h"
#include "query/read/store-host.h"

#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

/*
 * Computes the coverage of the last day. The window ends now, or at the end of what the recorder
 * has written. It begins a day ago, or at the end of the last recording if that was earlier.
 */
static int store_status_cover_day(struct store_status *status, struct store_reader *reader,
				  const struct store_segments *segments, struct error *error)
{
	struct window window = {
		.from_ns = MAX(status->totals.begin_ns,
			       MIN(status->now_ns - DAY_NS, status->totals.end_ns)),
		.to_ns = status->pid && status->totals.unsealed ? status->totals.unsealed_end_ns
								: status->now_ns,
	};

	if (!status->totals.begin_ns || window.from_ns >= window.to_ns)
		return 0;
	return recorded_cover(reader, segments, &window, NULL, &status->day, error);
}

/* Adds the segments of the last day up. */
static void store_status_add_day(struct store_status *status, const struct store_segments *segments)
{
	for (size_t i = 0; i < segments->list.count; i++) {
		const struct store_segment *segment = &segments->list.items[i];

		status->day_lost += segment->lost;
		if (segment->unsealed || *segment->damage)
			continue;
		status->day_bytes += segment->bytes;
		status->day_ns += segment->end_ns - segment->begin_ns;
	}
}

static int store_status_read_day(struct store_status *status, struct store_reader *reader,
				 struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_reader_find(reader, status->now_ns - DAY_NS, status->now_ns, &segments,
				  error);

	store_status_add_day(status, &segments);
	return r < 0 ? r : store_status_cover_day(status, reader, &segments, error);
}

static int store_status_read_now(struct store_reader *reader, struct store_status *status,
				 struct error *error)
{
	int r;

	status->path = store_reader_path(reader);
	status->now_ns = clock_ns(CLOCK_REALTIME);
	status->is_file = store_reader_is_file(reader);
	status->pid = store_reader_recorder(reader, &status->since_ns);
	r = recorder_text_read(reader, status->pid, &status->recorder);
	if (r < 0)
		return r;
	r = store_reader_totals(reader, &status->totals, error);
	if (r < 0)
		return r;
	r = store_reader_limits(reader, &status->limits, error);
	/* 1 means that the store has noted limits */
	return MIN(r, 0);
}

/* Reads the host of the last segment. A store without one is recorded here. */
static int store_status_read_host(struct store_status *status, struct store_reader *reader,
				  struct error *error)
{
	const struct window last = { .from_ns = status->totals.end_ns - 1,
				     .to_ns = status->totals.end_ns };

	if (status->totals.end_ns)
		return store_host_find(reader, &last, &status->facts, error);
	if (status->recorder.running)
		host_name_own(&status->facts);
	return 0;
}

int store_status_read_figures(struct store_reader *reader, struct store_status *status,
			      struct error *error)
{
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_status_read_now(reader, status, error);

	if (r == 0)
		r = store_reader_list(reader, status->now_ns - DAY_NS, status->now_ns, &segments,
				      error);
	store_status_add_day(status, &segments);
	return r < 0 ? r : store_status_read_host(status, reader, error);
}

int store_status_read(struct store_reader *reader, struct store_status *status, struct error *error)
{
	static const struct window all = { .to_ns = UINT64_MAX };
	int r = store_status_read_now(reader, status, error);

	if (r < 0)
		return r;
	r = store_reader_removed(reader, 0, UINT64_MAX, &status->gone, error);
	if (r < 0)
		return r;
	if (!status->pid && status->totals.end_ns)
		r = dying_state_read(reader, status->totals.end_ns - 1, status->totals.end_ns + 1,
				     &status->dying, error);
	if (r < 0)
		return r;
	r = store_host_find(reader, &all, &status->facts, error);
	return r < 0 ? r : store_status_read_day(status, reader, error);
}

void store_status_done(struct store_status *status)
{
	array_done(&status->gone.list);
	array_done(&status->day.gaps);
	dying_state_done(&status->dying);
}

const struct coverage_gap *store_status_last_gap(const struct store_status *status)
{
	size_t count = status->day.gaps.count;
	const struct coverage_gap *last = count ? &status->day.gaps.items[count - 1] : NULL;

	return !status->pid && last && last->to_ns == status->now_ns ? last : NULL;
}

uint64_t store_status_bytes_a_day(const struct store_status *status)
{
	return status->day_ns ? (double)status->day_bytes * DAY_NS / status->day_ns : 0;
}
