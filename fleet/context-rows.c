// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/context-rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/intern.h"
#include "fleet/row-binary.h"
#include "query/read/series.h"
#include "query/window/filter.h"

#define MINUTE_NS (60 * NSEC_PER_SEC)

static const char *loss_row_word(uint32_t kind)
{
	static const struct {
		uint32_t kind;
		const char *word;
	} words[] = {
		{ TAPE_LOSS_SAMPLES, "samples" },
		{ TAPE_LOSS_SIDEBAND, "side-band" },
		{ TAPE_LOSS_THROTTLED, "throttled" },
		{ TAPE_LOSS_DAMAGED, "damaged" },
		{ TAPE_LOSS_UNSAVED, "unsaved" },
		{ TAPE_LOSS_OFFLINE, "offline" },
		{ TAPE_LOSS_GAP, "gap" },
		{ TAPE_LOSS_SKIPPED, "skipped" },
		{ TAPE_LOSS_TRUNCATED, "truncated" },
		{ TAPE_LOSS_LOWERED, "lowered" },
		{ TAPE_LOSS_EVENTS, "events" },
		{ TAPE_LOSS_STALLED_SIGNAL, "stalled: signal" },
		{ TAPE_LOSS_STALLED_CPU, "stalled: cpu" },
		{ TAPE_LOSS_REFUSED, "refused" },
		{ LOSS_ROW_REMOVED, "removed before it was shipped" },
		{ LOSS_ROW_DAMAGED, "segment not readable" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].kind == kind)
			return words[i].word;
	return "other";
}

void loss_row_put(struct batch_rows *rows, const char *host, uint64_t from_ns, uint64_t to_ns,
		  uint32_t kind, uint32_t cpu, uint64_t count)
{
	struct buffer *row = batch_rows_add(rows, FLEET_LOSSES);

	row_put_text(row, host);
	buffer_u64(row, from_ns / NSEC_PER_USEC);
	buffer_u64(row, to_ns / NSEC_PER_USEC);
	buffer_u32(row, kind);
	buffer_u32(row, cpu);
	row_put_text(row, loss_row_word(kind));
	buffer_u64(row, count);
}

int loss_rows_put(struct store_reader *reader, const struct store_segment *segment,
		  const char *host, struct batch_rows *rows, struct error *error)
{
	const struct segment_want want = { 0, UINT64_MAX, SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = store_reader_load(reader, segment, &want, &tape, error);

	for (size_t i = 0; r == 0 && i < tape->losses.count; i++) {
		const struct tape_loss *loss = &tape->losses.items[i];

		loss_row_put(rows, host, tape_to_realtime(tape, loss->from_ns, NULL),
			     tape_to_realtime(tape, loss->to_ns, NULL), loss->kind, loss->cpu,
			     loss->count);
	}
	return r;
}

/* A figure in a minute. */
struct gauge_minute {
	uint32_t name;
	uint32_t minute;
	uint32_t readings;
	double low;
	double high;
	/* Weighted with `seconds`; figures without a length count alike. */
	double sum;
	double seconds;
};

struct gauge_minutes {
	struct strings names;
	array_of(struct gauge_minute) list;
	/* The last row of each series, by its number in the run. */
	array_of(size_t) last;
};

static void gauge_minutes_done(struct gauge_minutes *minutes)
{
	strings_done(&minutes->names);
	array_done(&minutes->list);
	array_done(&minutes->last);
}

/* Finds the row of a series in a minute; a series comes step by step in the order of time. */
static int gauge_minutes_row(struct gauge_minutes *minutes, const struct series_step *step,
			     uint32_t minute, struct gauge_minute **ret_row)
{
	struct gauge_minute row = { .minute = minute };
	size_t *last;
	int r;

	while (minutes->last.count <= step->series)
		if (array_push(&minutes->last, SIZE_MAX) < 0)
			return -ENOMEM;
	last = &minutes->last.items[step->series];
	if (*last != SIZE_MAX && minutes->list.items[*last].minute == minute) {
		*ret_row = &minutes->list.items[*last];
		return 0;
	}
	r = strings_add(&minutes->names, step->name, strlen(step->name), &row.name);
	if (r < 0)
		return r;
	if (array_push(&minutes->list, row) < 0)
		return -ENOMEM;
	*last = minutes->list.count - 1;
	*ret_row = &minutes->list.items[*last];
	return 0;
}

static int gauge_minutes_see(void *context, const struct series_step *step)
{
	struct gauge_minutes *minutes = context;
	double seconds = (double)(step->to_ns - step->from_ns) / NSEC_PER_SEC;
	struct gauge_minute *row;
	int r;

	if (!step->has_figure)
		return 0;
	r = gauge_minutes_row(minutes, step, step->to_ns / MINUTE_NS, &row);
	if (r < 0)
		return r;
	seconds = seconds > 0 ? seconds : 1;
	row->low = row->readings ? MIN(row->low, step->figure) : step->figure;
	row->high = row->readings ? MAX(row->high, step->figure) : step->figure;
	row->sum += step->figure * seconds;
	row->seconds += seconds;
	row->readings++;
	return 0;
}

int gauge_minutes_put(struct store_reader *reader, const struct store_segment *segment,
		      const char *host, struct batch_rows *rows, struct error *error)
{
	_cleanup_(gauge_minutes_done) struct gauge_minutes minutes = { 0 };
	const struct filter all = { 0 };
	const struct series_options options = {
		.question = { .window = { .from_ns = segment->begin_ns, .to_ns = segment->end_ns },
			      .filter = &all },
		.see = gauge_minutes_see,
		.context = &minutes,
	};
	_cleanup_(coverage_done) struct coverage coverage = { 0 };
	int r = series_run(reader, &options, &coverage, error);
	for (size_t i = 0; r == 0 && i < minutes.list.count; i++) {
		const struct gauge_minute *minute = &minutes.list.items[i];
		struct buffer *row = batch_rows_add(rows, FLEET_GAUGES);

		row_put_text(row, host);
		buffer_u32(row, minute->minute);
		row_put_text(row, strings_at(&minutes.names, minute->name));
		buffer_u64(row, segment->begin_ns / NSEC_PER_USEC);
		buffer_u32(row, minute->readings);
		row_put_double(row, minute->low);
		row_put_double(row, minute->sum / minute->seconds);
		row_put_double(row, minute->high);
	}
	return r;
}
