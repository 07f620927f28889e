// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ship-round.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "fleet/batch-rows.h"
#include "fleet/context-rows.h"
#include "fleet/host-labels.h"
#include "fleet/minute-rows.h"
#include "fleet/outbox.h"
#include "fleet/row-binary.h"
#include "fleet/sample-rows.h"
#include "store/read/store-reader.h"

#define DAY_NS (86400 * NSEC_PER_SEC)
/* After this time, a window is shipped even if one of its segments has not come. */
#define WINDOW_PATIENCE_NS (900 * NSEC_PER_SEC)
/* A round ships at most this much of one window, so that its outbox fits into memory. */
#define WINDOW_PART_NS (60 * NSEC_PER_SEC)

struct ship_maker {
	const struct ship_round *round;
	struct store_reader *reader;
	struct store_segments segments;
	struct batch_rows rows;
	struct outbox *outbox;
	struct ship_state after;
	/* The earliest begin and the latest end of a sealed segment. */
	uint64_t sealed_from_ns;
	uint64_t sealed_to_ns;
	bool has_news;
	struct error *error;
};

static void ship_maker_done(struct ship_maker *maker)
{
	store_reader_close(maker->reader);
	array_done(&maker->segments.list);
	batch_rows_done(&maker->rows);
	outbox_free(maker->outbox);
	ship_state_done(&maker->after);
}

static uint64_t ship_mark_segment(const struct store_segment *segment)
{
	return hash_bytes(segment->name, strlen(segment->name));
}

/* Tells incidents apart, also those without a number. */
static uint64_t ship_mark_incident(const struct store_incident *incident)
{
	uint64_t hash = hash_bytes(incident->text, strlen(incident->text));

	hash = hash_u64(hash ^ incident->time_ns);
	hash = hash_u64(hash ^ incident->id);
	return hash_u64(hash ^ hash_bytes(incident->kind, strlen(incident->kind)));
}

static int ship_take_rows(struct ship_maker *maker, bool all)
{
	return outbox_take(maker->outbox, &maker->rows, all, maker->error);
}

/* Keeps the marks of what the store still has. */
static int ship_keep_marks(struct ship_maker *maker)
{
	const struct ship_state *before = maker->round->before;
	int r = 0;

	for (size_t i = 0; r == 0 && i < maker->segments.list.count; i++) {
		uint64_t mark = ship_mark_segment(&maker->segments.list.items[i]);

		if (ship_marks_has(&before->segments, mark))
			r = ship_marks_add(&maker->after.segments, mark);
	}
	return r;
}

/* Puts losses for the times that retention removed before they were shipped. */
static int ship_put_removed(struct ship_maker *maker, uint64_t to_ns)
{
	const char *host = maker->round->host;
	uint64_t from_ns = maker->round->before->shipped_to_ns;
	_cleanup_(store_removed_ranges_done) struct store_removed_ranges ranges = { 0 };
	int r = 0;

	if (from_ns && from_ns < to_ns)
		r = store_reader_removed(maker->reader, from_ns, to_ns, &ranges, maker->error);
	for (size_t i = 0; r == 0 && i < ranges.list.count; i++) {
		const struct store_removed_range *range = &ranges.list.items[i];

		loss_row_put(&maker->rows, host, MAX(range->from_ns, from_ns),
			     MIN(range->to_ns, to_ns), LOSS_ROW_REMOVED, TAPE_ALL_CPUS, 1);
	}
	return r;
}

static int ship_put_segment_rows(struct ship_maker *maker, const struct store_segment *segment)
{
	const struct ship_round *round = maker->round;
	const struct sample_rows samples = { maker->reader, round->host, round->sent, &maker->rows,
					     maker->outbox };
	int r = loss_rows_put(maker->reader, segment, round->host, &maker->rows, maker->error);

	if (r < 0)
		return r;
	r = gauge_minutes_put(maker->reader, segment, round->host, &maker->rows, maker->error);
	if (r < 0)
		return r;
	r = minute_rows_put(maker->reader, segment, round->host, round->sent, &maker->rows,
			    maker->error);
	if (r < 0)
		return r;
	if (round->samples == EXPORTER_ALL_SAMPLES)
		return sample_rows_put(&samples, segment, 0, UINT64_MAX, maker->error);
	return 0;
}

/*
 * Labels of a day on which the host shipped nothing: those of now. The first segment of a day
 * brings them, so that each day of which the server has sums has labels, too. Labels that the host
 * stated on the day itself are newer, and stay.
 */
static int ship_put_past_facts(struct ship_maker *maker, const struct store_segment *segment)
{
	const struct ship_round *round = maker->round;
	uint64_t day = segment->begin_ns / DAY_NS;

	if (day == round->now_ns / DAY_NS)
		return 0;
	for (size_t i = 0; i < maker->segments.list.count; i++) {
		const struct store_segment *other = &maker->segments.list.items[i];

		if (other->begin_ns < segment->begin_ns && other->begin_ns / DAY_NS == day)
			return 0;
	}
	return host_labels_put(round->root, round->host, segment->begin_ns, &maker->rows,
			       maker->error);
}

static int ship_put_known_segment(struct ship_maker *maker, const struct store_segment *segment)
{
	int r = ship_put_removed(maker, segment->begin_ns);

	if (r < 0)
		return r;
	r = ship_put_past_facts(maker, segment);
	if (r < 0)
		return r;
	return *segment->damage ? -EBADMSG : ship_put_segment_rows(maker, segment);
}

/* Ships a segment, or, if it cannot be read, the fact that it is lost. */
static int ship_put_segment(struct ship_maker *maker, const struct store_segment *segment)
{
	int r = ship_put_known_segment(maker, segment);

	/* the segment was removed meanwhile: the next round reports it, so drop these rows */
	if (r == -ENOENT || r == -ESTALE) {
		sent_stacks_done(maker->round->sent);
		return error_forget(maker->error);
	}
	if (r == -EBADMSG || r == -EPROTONOSUPPORT) {
		error_forget(maker->error);
		loss_row_put(&maker->rows, maker->round->host, segment->begin_ns, segment->end_ns,
			     LOSS_ROW_DAMAGED, TAPE_ALL_CPUS, segment->samples);
		r = 0;
	}
	if (r < 0)
		return r;
	maker->has_news = true;
	maker->after.shipped_to_ns = MAX(maker->after.shipped_to_ns, segment->end_ns);
	return ship_marks_add(&maker->after.segments, ship_mark_segment(segment));
}

/* Ships the oldest segment that the server lacks. */
static int ship_put_next_segment(struct ship_maker *maker)
{
	for (size_t i = 0; i < maker->segments.list.count; i++) {
		const struct store_segment *segment = &maker->segments.list.items[i];

		if (!segment->unsealed &&
		    !ship_marks_has(&maker->round->before->segments, ship_mark_segment(segment)))
			return ship_put_segment(maker, segment);
	}
	return 0;
}

static int ship_see_incident(void *context, const struct store_incident *incident)
{
	struct ship_maker *maker = context;
	const struct ship_round *round = maker->round;
	uint64_t mark = ship_mark_incident(incident), from_ns, to_ns;
	struct buffer *row;
	int r = ship_marks_add(&maker->after.incidents, mark);

	if (r < 0 || ship_marks_has(&round->before->incidents, mark))
		return r;
	maker->has_news = true;
	row = batch_rows_add(&maker->rows, FLEET_INCIDENTS);
	row_put_text(row, round->host);
	buffer_u64(row, incident->time_ns / NSEC_PER_USEC);
	row_put_text(row, incident->kind);
	buffer_u64(row, mark);
	buffer_u64(row, incident->id);
	buffer_u32(row, incident->severity);
	buffer_u64(row, incident->stall_ns / NSEC_PER_USEC);
	buffer_u64(row, incident->error_ns / NSEC_PER_USEC);
	row_put_text(row, incident->source);
	row_put_text(row, incident->boot_id);
	row_put_text(row, incident->text);
	row_put_text(row, incident->fields);
	/* an incident without weight explains nothing */
	if (round->samples == EXPORTER_INCIDENTS && incident->severity) {
		from_ns = MIN(incident->stall_ns, incident->time_ns);
		to_ns = incident->time_ns + SHIP_AFTER_NS;
		r = ship_state_add_window(&maker->after, from_ns - MIN(from_ns, SHIP_BEFORE_NS),
					  to_ns);
	}
	return r < 0 ? r : ship_take_rows(maker, false);
}

/* Ships the samples of a window out of all segments that it touches. */
static int ship_put_window(struct ship_maker *maker, const struct ship_window *window)
{
	const struct ship_round *round = maker->round;
	const struct sample_rows samples = { maker->reader, round->host, round->sent, &maker->rows,
					     maker->outbox };
	int r = 0;

	for (size_t i = 0; r == 0 && i < maker->segments.list.count; i++) {
		const struct store_segment *segment = &maker->segments.list.items[i];

		if (segment->unsealed || *segment->damage || segment->end_ns <= window->from_ns ||
		    segment->begin_ns >= window->to_ns)
			continue;
		r = sample_rows_put(&samples, segment, window->from_ns, window->to_ns,
				    maker->error);
		/* a segment that cannot be read has a row of losses */
		if (r == -ENOENT || r == -EBADMSG || r == -EPROTONOSUPPORT)
			r = error_forget(maker->error);
	}
	return r;
}

static bool ship_is_due(const struct ship_maker *maker, const struct ship_window *window)
{
	return window->to_ns <= maker->sealed_to_ns ||
	       window->to_ns + WINDOW_PATIENCE_NS < maker->round->now_ns;
}

/* Ships the begin of a window, which becomes the rest of it. Returns 1 if there is a rest. */
static int ship_put_part(struct ship_maker *maker, struct ship_window *window)
{
	/* nothing is before the first segment */
	uint64_t from_ns = MAX(window->from_ns, maker->sealed_from_ns);
	uint64_t to_ns = (from_ns + WINDOW_PART_NS) / NSEC_PER_USEC * NSEC_PER_USEC;
	const struct ship_window part = { from_ns, MIN(to_ns, window->to_ns) };
	int r = ship_put_window(maker, &part);

	maker->has_news = true;
	window->from_ns = part.to_ns;
	return r < 0 ? r : part.to_ns < window->to_ns;
}

/* Ships a part of the first window that ends in sealed segments, and keeps the others. */
static int ship_put_windows(struct ship_maker *maker)
{
	struct ship_state *after = &maker->after;
	size_t i = 0;
	int r;

	while (i < after->windows.count && !ship_is_due(maker, &after->windows.items[i]))
		i++;
	if (i == after->windows.count)
		return 0;
	r = ship_put_part(maker, &after->windows.items[i]);
	if (r != 0)
		return MIN(r, 0);
	after->windows.count--;
	memmove(&after->windows.items[i], &after->windows.items[i + 1],
		(after->windows.count - i) * sizeof(*after->windows.items));
	return 0;
}

static int ship_put_facts(struct ship_maker *maker)
{
	const struct ship_round *round = maker->round;
	uint64_t day = round->now_ns / DAY_NS;

	if (round->before->facts_day == day)
		return 0;
	maker->after.facts_day = day;
	maker->has_news = true;
	return host_labels_put(round->root, round->host, round->now_ns, &maker->rows, maker->error);
}

static int ship_copy_state(struct ship_maker *maker)
{
	const struct ship_state *before = maker->round->before;
	struct ship_state *after = &maker->after;
	int r = 0;

	after->server = before->server;
	after->round = before->round + 1;
	after->shipped_to_ns = before->shipped_to_ns;
	after->facts_day = before->facts_day;
	for (size_t i = 0; r == 0 && i < before->windows.count; i++)
		r = array_push(&after->windows, before->windows.items[i]);
	return r;
}

static int ship_open(struct ship_maker *maker)
{
	const struct ship_round *round = maker->round;
	int r = store_reader_open(round->store, &maker->reader, maker->error);

	if (r < 0)
		return r;
	r = store_reader_list(maker->reader, 0, UINT64_MAX, &maker->segments, maker->error);
	if (r < 0)
		return r;
	r = outbox_new(round->folder, round->before->batch, &maker->outbox, maker->error);
	if (r < 0)
		return r;
	maker->sealed_from_ns = UINT64_MAX - WINDOW_PART_NS;
	for (size_t i = 0; i < maker->segments.list.count; i++) {
		const struct store_segment *segment = &maker->segments.list.items[i];

		if (segment->unsealed)
			continue;
		maker->sealed_from_ns = MIN(maker->sealed_from_ns, segment->begin_ns);
		maker->sealed_to_ns = MAX(maker->sealed_to_ns, segment->end_ns);
	}
	return 0;
}

/* Puts the rows of the round into the outbox. Returns 0 or a negative errno. */
static int ship_put_all(struct ship_maker *maker)
{
	int r = ship_open(maker);

	if (r < 0)
		return r;
	r = ship_copy_state(maker);
	if (r < 0)
		return r;
	r = ship_keep_marks(maker);
	if (r < 0)
		return r;
	r = ship_put_facts(maker);
	if (r < 0)
		return r;
	r = ship_put_next_segment(maker);
	if (r < 0)
		return r;
	r = store_reader_incidents(maker->reader, 0, UINT64_MAX, ship_see_incident, maker,
				   maker->error);
	if (r < 0)
		return r;
	r = ship_put_windows(maker);
	return r < 0 || !maker->has_news ? r : ship_take_rows(maker, true);
}

static int ship_commit(struct ship_maker *maker)
{
	ship_marks_sort(&maker->after.segments);
	ship_marks_sort(&maker->after.incidents);
	maker->after.batch = outbox_next(maker->outbox);
	return outbox_commit(maker->outbox, &maker->after, maker->error);
}

int ship_round_make(const struct ship_round *round, struct error *error)
{
	_cleanup_(ship_maker_done) struct ship_maker maker = { .round = round, .error = error };
	int r = ship_put_all(&maker);

	if (r == 0 && maker.has_news)
		r = ship_commit(&maker);
	/* the stacks of a round that failed are not sent */
	if (r < 0)
		sent_stacks_done(round->sent);
	return r < 0 ? r : maker.has_news;
}
