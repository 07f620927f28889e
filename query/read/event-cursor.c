// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments may overlap, at least on the wall clock. The text of an event waits while an unread
 * segment begins before the event. Memory use therefore follows the number of overlapping segments,
 * not the window.
 */
#include "query/read/event-cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"
#include "tape/tape-events.h"

struct waiting {
	uint64_t realtime_ns;
	size_t start, size;
};

struct run {
	const struct event_cursor_options *options;
	struct loader loader;
	array_of(struct waiting) waiting;
	struct buffer texts;
	/* number of events that were only counted, over all names */
	uint64_t only_counted;
	struct event_cursor_totals *totals;
};

bool event_cursor_is_count(const struct tape *tape, const struct tape_event *event)
{
	return event->fields.count &&
	       strcmp(tape_string(tape, tape->fields.items[event->fields.first].key),
		      TAPE_EVENT_COUNT) == 0;
}

bool event_cursor_is_overflow(const struct tape *tape, const struct tape_event *event)
{
	return event_cursor_is_count(tape, event) && event->fields.count == 2;
}

/*
 * The recorder writes a count at the end of the time in which it counted. A count therefore belongs
 * to the window if any of this time does.
 */
static bool event_cursor_is_in_window(const struct run *run, const struct event_cursor_row *row)
{
	const struct window *window = &run->options->question.window;
	const char *since = event_cursor_is_count(row->tape, row->event)
				    ? tape_event_field(row->tape, row->event, TAPE_EVENT_SINCE)
				    : NULL;
	uint64_t since_ns = since ? strtoull(since, NULL, 10) : 0;

	return row->realtime_ns >= window->from_ns &&
	       row->realtime_ns - MIN(row->realtime_ns, since_ns) < window->to_ns;
}

void event_cursor_totals_done(struct event_cursor_totals *totals)
{
	strings_done(&totals->overflow_names);
	array_done(&totals->overflows);
	array_done(&totals->coverage.gaps);
}

static bool has_name(const struct run *run, const struct event_cursor_row *row)
{
	return globs_pass(&run->options->names, tape_string(row->tape, row->event->name));
}

static uint64_t event_cursor_number_of(const struct event_cursor_row *row, const char *key)
{
	const char *text = tape_event_field(row->tape, row->event, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

static int add_overflow(struct event_cursor_totals *totals, const struct event_cursor_row *row,
			uint64_t count)
{
	const char *name = tape_string(row->tape, row->event->name);
	uint64_t since_ns = MIN(event_cursor_number_of(row, TAPE_EVENT_SINCE), row->realtime_ns);
	struct event_cursor_overflow *overflow;
	uint32_t number;
	int r = strings_add(&totals->overflow_names, name, strlen(name), &number);

	while (r == 0 && totals->overflows.count <= number)
		r = array_push(&totals->overflows,
			       (struct event_cursor_overflow){ 0, UINT64_MAX, 0 });
	if (r < 0)
		return r;
	overflow = &totals->overflows.items[number];
	overflow->count += count;
	overflow->from_ns = MIN(overflow->from_ns, row->realtime_ns - since_ns);
	overflow->to_ns = MAX(overflow->to_ns, row->realtime_ns);
	totals->only_counted += count;
	return 0;
}

static int count_overflow(struct run *run, const struct event_cursor_row *row)
{
	uint64_t count = event_cursor_number_of(row, TAPE_EVENT_COUNT);

	if (!event_cursor_is_overflow(row->tape, row->event) ||
	    !event_cursor_is_in_window(run, row))
		return 0;
	run->only_counted += count;
	return has_name(run, row) ? add_overflow(run->totals, row, count) : 0;
}

static bool has_no_thread(const struct tape *tape, const struct tape_event *event)
{
	const struct tape_thread *thread = &tape->threads.items[event->thread];

	return !thread->tid && !thread->pid && !thread->comm;
}

static bool event_cursor_passes(const struct run *run, const struct event_cursor_row *row,
				const bool *threads)
{
	const struct question *question = &run->options->question;
	const struct tape_event *event = row->event;

	if (!event_cursor_is_in_window(run, row) || !has_name(run, row))
		return false;
	if (has_no_thread(row->tape, event))
		return !threads && !question->filter->cpus.wanted.count;
	return cpu_filter_passes(&question->filter->cpus, event->cpu) &&
	       (!threads || threads[event->thread]);
}

static int event_cursor_take_event(struct run *run, const struct event_cursor_row *row)
{
	struct waiting waiting = { row->realtime_ns, run->texts.size, 0 };
	int r = run->options->make(run->options->context, row, &run->texts);

	waiting.size = run->texts.size - waiting.start;
	return r == 0 ? array_push(&run->waiting, waiting) : r;
}

static int event_cursor_take_tape(struct run *run, const struct tape *tape)
{
	const struct filter *filter = run->options->question.filter;
	struct coverage *coverage = &run->loader.coverage;
	_cleanup_free_ bool *threads = NULL;
	int r = filter_has_threads(filter) ? filter_threads(filter, tape, &threads) : 0;

	for (size_t i = 0; r == 0 && i < tape->events.count; i++) {
		struct event_cursor_row row = { .tape = tape, .event = &tape->events.items[i] };
		uint64_t off_ns = 0;

		row.realtime_ns = tape_to_realtime(tape, row.event->time_ns, &off_ns);
		r = count_overflow(run, &row);
		if (r < 0 || !event_cursor_passes(run, &row, threads))
			continue;
		coverage->clock_error_ns = MAX(coverage->clock_error_ns, off_ns);
		r = event_cursor_take_event(run, &row);
	}
	return r;
}

static int sort_waiting(struct run *run)
{
	_cleanup_free_ void *scratch = NULL;

	if (sort_array_is_sorted(&run->waiting, realtime_ns))
		return 0;
	scratch = malloc(run->waiting.count * sizeof(*run->waiting.items));
	if (!scratch)
		return -ENOMEM;
	sort_array(&run->waiting, scratch, realtime_ns);
	return 0;
}

/* Keeps only the texts that still wait. */
static int drop_texts(struct run *run)
{
	_cleanup_(buffer_done) struct buffer before = run->texts;

	run->texts = (struct buffer){ 0 };
	for (size_t i = 0; i < run->waiting.count; i++) {
		struct waiting *row = &run->waiting.items[i];
		const uint8_t *text = before.data + row->start;

		row->start = run->texts.size;
		buffer_bytes(&run->texts, text, row->size);
	}
	return buffer_failed(&run->texts) ? -ENOMEM : 0;
}

/* Passes on the texts before a moment that no unread event can precede. */
static int event_cursor_flush(struct run *run, uint64_t before_ns)
{
	size_t done = 0;
	int r = sort_waiting(run);

	while (r == 0 && done < run->waiting.count &&
	       run->waiting.items[done].realtime_ns < before_ns) {
		const struct waiting *row = &run->waiting.items[done++];

		r = run->options->take(run->options->context, run->texts.data + row->start,
				       row->size);
	}
	run->totals->count += done;
	run->waiting.count -= done;
	memmove(run->waiting.items, run->waiting.items + done,
		run->waiting.count * sizeof(*run->waiting.items));
	if (r == 0 && run->waiting.count)
		return drop_texts(run);
	run->texts.size = 0;
	return r;
}

static int event_cursor_read_segment(struct run *run, const struct store_segment *segment,
				     struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct loaded loaded;
	int r = run->waiting.count ? event_cursor_flush(run, segment->begin_ns) : 0;

	if (r < 0)
		return r;
	loader_read(&run->loader, segment, 0, SEGMENT_CONTEXT | SEGMENT_LOSSES, &loaded);
	r = loader_take(&run->loader, segment, &loaded, &tape, error);
	return r == 1 ? event_cursor_take_tape(run, tape) : r;
}

static void event_cursor_run_done(struct run *run)
{
	loader_done(&run->loader);
	array_done(&run->waiting);
	buffer_done(&run->texts);
}

static int event_cursor_read_all(struct run *run, struct error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->loader.segments.list.count; i++)
		r = event_cursor_read_segment(run, &run->loader.segments.list.items[i], error);
	if (r != 0)
		return r;
	if (run->waiting.count)
		r = event_cursor_flush(run, UINT64_MAX);
	return r != 0 ? r : loader_finish(&run->loader, error);
}

int event_cursor_run(struct store_reader *reader, const struct event_cursor_options *options,
		     struct event_cursor_totals *ret_totals, struct error *error)
{
	_cleanup_(event_cursor_run_done) struct run run = { .options = options,
							    .totals = ret_totals };
	uint64_t lost;
	int r;

	*ret_totals = (struct event_cursor_totals){ 0 };
	r = loader_open(reader, &options->question, &run.loader, error);
	if (r < 0)
		return r;
	r = event_cursor_read_all(&run, error);
	if (r != 0)
		return r;
	lost = run.loader.coverage.lost_events;
	ret_totals->lost = lost - MIN(lost, run.only_counted);
	ret_totals->coverage = run.loader.coverage;
	memset(&run.loader.coverage.gaps, 0, sizeof(run.loader.coverage.gaps));
	return 0;
}
