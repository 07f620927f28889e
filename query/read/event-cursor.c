// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments may overlap, on the wall clock at least. Texts wait until no segment that is still to be
 * read begins before them, so memory follows the segments that do, not the window.
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
	/* of all names */
	uint64_t only_counted;
	struct event_cursor_told *told;
};

bool event_cursor_is_count(const struct tape *tape, const struct tape_event *event)
{
	return event->fields.count &&
	       strcmp(tape_string(tape, tape->fields.items[event->fields.first].key),
		      TAPE_EVENT_COUNT) == 0;
}

bool event_cursor_is_passed_over(const struct tape *tape, const struct tape_event *event)
{
	return event_cursor_is_count(tape, event) && event->fields.count == 2;
}

/* What a count is of began before its time: who asks for any of that time is told of it. */
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

void event_cursor_told_done(struct event_cursor_told *told)
{
	strings_done(&told->over_names);
	array_done(&told->over);
	array_done(&told->coverage.gaps);
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

static int add_over(struct event_cursor_told *told, const struct event_cursor_row *row,
		    uint64_t count)
{
	const char *name = tape_string(row->tape, row->event->name);
	uint64_t since_ns = MIN(event_cursor_number_of(row, TAPE_EVENT_SINCE), row->realtime_ns);
	struct event_cursor_over *over;
	uint32_t number;
	int r = strings_add(&told->over_names, name, strlen(name), &number);

	while (r == 0 && told->over.count <= number)
		r = array_push(&told->over, (struct event_cursor_over){ 0, UINT64_MAX, 0 });
	if (r < 0)
		return r;
	over = &told->over.items[number];
	over->count += count;
	over->from_ns = MIN(over->from_ns, row->realtime_ns - since_ns);
	over->to_ns = MAX(over->to_ns, row->realtime_ns);
	told->only_counted += count;
	return 0;
}

static int count_passed_over(struct run *run, const struct event_cursor_row *row)
{
	uint64_t count = event_cursor_number_of(row, TAPE_EVENT_COUNT);

	if (!event_cursor_is_passed_over(row->tape, row->event) ||
	    !event_cursor_is_in_window(run, row))
		return 0;
	run->only_counted += count;
	return has_name(run, row) ? add_over(run->told, row, count) : 0;
}

static bool is_of_none(const struct tape *tape, const struct tape_event *event)
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
	if (is_of_none(row->tape, event))
		return !threads && !question->filter->cpus.wanted.count;
	return cpu_filter_passes(&question->filter->cpus, event->cpu) &&
	       (!threads || threads[event->thread]);
}

static int see_event(struct run *run, const struct event_cursor_row *row)
{
	struct waiting waiting = { row->realtime_ns, run->texts.size, 0 };
	int r = run->options->make(run->options->context, row, &run->texts);

	waiting.size = run->texts.size - waiting.start;
	return r == 0 ? array_push(&run->waiting, waiting) : r;
}

static int event_cursor_see_tape(struct run *run, const struct tape *tape)
{
	const struct filter *filter = run->options->question.filter;
	struct coverage *coverage = &run->loader.coverage;
	_cleanup_free_ bool *threads = NULL;
	int r = filter_has_threads(filter) ? filter_threads(filter, tape, &threads) : 0;

	for (size_t i = 0; r == 0 && i < tape->events.count; i++) {
		struct event_cursor_row row = { .tape = tape, .event = &tape->events.items[i] };
		uint64_t off_ns = 0;

		row.realtime_ns = tape_to_realtime(tape, row.event->time_ns, &off_ns);
		r = count_passed_over(run, &row);
		if (r < 0 || !event_cursor_passes(run, &row, threads))
			continue;
		coverage->clock_error_ns = MAX(coverage->clock_error_ns, off_ns);
		r = see_event(run, &row);
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

/* Keeps the texts that still wait, and no others. */
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

/* Hands over what lies before a moment, that no other can precede. */
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
	run->told->count += done;
	run->waiting.count -= done;
	memmove(run->waiting.items, run->waiting.items + done,
		run->waiting.count * sizeof(*run->waiting.items));
	if (r == 0 && run->waiting.count)
		return drop_texts(run);
	run->texts.size = 0;
	return r;
}

static int event_cursor_see_segment(struct run *run, const struct store_segment *segment,
				    struct error *error)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct loaded loaded;
	int r = run->waiting.count ? event_cursor_flush(run, segment->begin_ns) : 0;

	if (r < 0)
		return r;
	loader_read(&run->loader, segment, 0, SEGMENT_CONTEXT | SEGMENT_LOSSES, &loaded);
	r = loader_take(&run->loader, segment, &loaded, &tape, error);
	return r == 1 ? event_cursor_see_tape(run, tape) : r;
}

int event_cursor_run(struct store_reader *reader, const struct event_cursor_options *options,
		     struct event_cursor_told *ret_told, struct error *error)
{
	struct run run = { .options = options, .told = ret_told };
	int r;

	*ret_told = (struct event_cursor_told){ 0 };
	r = loader_open(reader, &options->question, &run.loader, error);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < run.loader.segments.list.count; i++)
		r = event_cursor_see_segment(&run, &run.loader.segments.list.items[i], error);
	if (r == 0 && run.waiting.count)
		r = event_cursor_flush(&run, UINT64_MAX);
	if (r == 0)
		r = loader_finish(&run.loader, error);
	if (r == 0) {
		uint64_t lost = run.loader.coverage.lost_events;

		ret_told->nameless = lost - MIN(lost, run.only_counted);
		ret_told->coverage = run.loader.coverage;
		memset(&run.loader.coverage.gaps, 0, sizeof(run.loader.coverage.gaps));
	}
	loader_done(&run.loader);
	array_done(&run.waiting);
	buffer_done(&run.texts);
	return r;
}
