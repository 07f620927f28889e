// SPDX-License-Identifier: GPL-2.0-only
#include "cli/answer/name-hints.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"
#include "draw/text.h"
#include "query/read/event-cursor.h"
#include "query/read/scan.h"

/* More names would not help to choose. */
#define NAMES_SHOWN 5

enum hint_kind {
	HINT_CGROUP,
	HINT_COMM,
	HINT_PID,
	HINT_TID,
	HINT_KINDS,
};

/* The names of one kind that have samples. */
struct hint_names {
	struct strings names;
	/* The number of samples of each name. */
	array_of(uint64_t) counts;
};

struct hints {
	const struct invocation *invocation;
	struct filter filter;
	/* Protects `kinds`, because several threads add tapes. */
	pthread_mutex_t lock;
	struct hint_names kinds[HINT_KINDS];
};

/* A name that may be suggested. */
struct hint_name {
	const char *text;
	uint64_t count;
	/* The name contains the pattern's letters. */
	bool similar;
};

static void hint_names_done(struct hint_names *kind)
{
	strings_done(&kind->names);
	array_done(&kind->counts);
}

static void hints_done(struct hints *hints)
{
	for (size_t i = 0; i < HINT_KINDS; i++)
		hint_names_done(&hints->kinds[i]);
	pthread_mutex_destroy(&hints->lock);
	filter_done(&hints->filter);
}

static int hint_names_add(struct hint_names *kind, const char *name, uint64_t count)
{
	uint32_t id;
	int r = strings_add(&kind->names, name, strlen(name), &id);

	if (r < 0)
		return r;
	while (kind->counts.count <= id)
		if (array_push(&kind->counts, 0) < 0)
			return -ENOMEM;
	kind->counts.items[id] += count;
	return 0;
}

static int hints_add_thread(struct hints *hints, const struct tape *tape,
			    const struct tape_thread *thread, uint64_t count)
{
	const char *cgroup = tape_string(tape, thread->cgroup);
	char number[FILTER_COMM_SIZE], numbered[64];
	const char *comm = filter_shown_comm(tape, thread, number);
	int r = hint_names_add(&hints->kinds[HINT_COMM], comm, count);

	if (r == 0 && *cgroup)
		r = hint_names_add(&hints->kinds[HINT_CGROUP], cgroup, count);
	snprintf(numbered, sizeof(numbered), "%d (%.32s)", thread->pid, comm);
	if (r == 0)
		r = hint_names_add(&hints->kinds[HINT_PID], numbered, count);
	snprintf(numbered, sizeof(numbered), "%d (%.32s)", thread->tid, comm);
	return r < 0 ? r : hint_names_add(&hints->kinds[HINT_TID], numbered, count);
}

static int hints_add(void *context, unsigned int worker, const struct store_segment *segment,
		     const struct tape *tape, const struct window_filter_times *times)
{
	struct hints *hints = context;
	_cleanup_free_ uint64_t *counts =
		calloc(MAX(tape->threads.count, (size_t)1), sizeof(*counts));
	int r = 0;

	(void)worker;
	(void)segment;
	(void)times;
	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < tape->samples.count; i++)
		counts[tape->samples.items[i].thread]++;
	pthread_mutex_lock(&hints->lock);
	for (size_t i = 0; r == 0 && i < tape->threads.count; i++)
		if (counts[i] && tape->threads.items[i].tid)
			r = hints_add_thread(hints, tape, &tape->threads.items[i], counts[i]);
	pthread_mutex_unlock(&hints->lock);
	return r;
}

/* Returns whether the option's value selects a name of its kind. */
static bool hints_select(const struct filter *filter, enum hint_kind kind, const char *name)
{
	const struct filter_ids *ids = kind == HINT_PID ? &filter->pids : &filter->tids;
	int32_t id = (int32_t)strtol(name, NULL, 10);

	if (kind == HINT_CGROUP)
		return glob_passes(filter->cgroup, name);
	if (kind == HINT_COMM)
		return glob_passes(filter->comm, name);
	for (size_t i = 0; i < ids->list.count; i++)
		if (ids->list.items[i] == id)
			return true;
	return false;
}

static bool hints_match(const struct hints *hints, enum hint_kind kind)
{
	const struct hint_names *names = &hints->kinds[kind];

	for (uint32_t i = 1; i < strings_count(&names->names); i++)
		if (hints_select(&hints->filter, kind, strings_at(&names->names, i)))
			return true;
	return false;
}

/*
 * Compares two names. Similar names come first, then names with more samples, then the order of the
 * alphabet decides.
 */
static int hint_name_compare(const void *a, const void *b)
{
	const struct hint_name *left = a, *right = b;

	if (left->similar != right->similar)
		return left->similar ? -1 : 1;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return strcmp(left->text, right->text);
}

/* Puts names that exist in the window; similar names come first. */
static int hints_put_names(const struct hint_names *kind, const char *similar, struct buffer *text)
{
	size_t count = strings_count(&kind->names) - 1;
	_cleanup_free_ struct hint_name *names = calloc(MAX(count, (size_t)1), sizeof(*names));
	const struct terminal terminal = { .unicode = true };

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = strings_at(&kind->names, i + 1);

		names[i] = (struct hint_name){ name, kind->counts.items[i + 1],
					       similar && strcasestr(name, similar) };
	}
	qsort(names, count, sizeof(*names), hint_name_compare);
	buffer_text(text, count ? ". Busiest here: " : ". None is known here");
	for (size_t i = 0; i < MIN(count, (size_t)NAMES_SHOWN); i++) {
		buffer_text(text, i ? ", " : "");
		text_put_short(&terminal, names[i].text, UINT32_MAX, text);
	}
	return 0;
}

/* Collects the name of an event. */
static int hint_event_make(void *context, const struct event_cursor_row *row, struct buffer *text)
{
	(void)text;
	return hint_names_add(context, tape_string(row->tape, row->event->name), 1);
}

static int hint_event_take(void *context, const void *text, size_t size)
{
	(void)context;
	(void)text;
	(void)size;
	return 0;
}

static const struct {
	const char *option;
	const char *noun;
} hint_kinds[HINT_KINDS] = {
	[HINT_CGROUP] = { "cgroup", "in cgroup" },
	[HINT_COMM] = { "comm", "of a thread named" },
	[HINT_PID] = { "pid", "of process" },
	[HINT_TID] = { "tid", "of thread" },
};

/* If the user's pattern is plain text, puts a pattern that matches a part of a name. */
static void hints_put_pattern(enum hint_kind kind, const char *value, struct buffer *text)
{
	if (kind > HINT_COMM || strpbrk(value, "*?[\\"))
		return;
	buffer_printf(text, "; patterns match the whole %s: '*%.200s*'",
		      kind == HINT_CGROUP ? "path" : "name", value);
}

static int hints_say_kind(const struct hints *hints, enum hint_kind kind)
{
	const char *value = option_value(hints->invocation, hint_kinds[kind].option);
	const char *quote = kind <= HINT_COMM ? "'" : "";
	_cleanup_(buffer_done) struct buffer text = { 0 };
	size_t trimmed = strspn(value, "*/");
	_cleanup_free_ char *letters = strndup(value + trimmed, strcspn(value + trimmed, "*?[\\"));
	int r = letters ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	buffer_printf(&text, "no sample %s %s%.200s%s", hint_kinds[kind].noun, quote, value, quote);
	hints_put_pattern(kind, value, &text);
	r = hints_put_names(&hints->kinds[kind], kind <= HINT_COMM && *letters ? letters : NULL,
			    &text);
	if (r < 0)
		return r;
	warn("%s", buffer_shown(&text));
	return 1;
}

/* Prints a message for each option that does not match any name. */
static int hints_say(const struct hints *hints)
{
	int r = 0, said = 0;

	for (enum hint_kind kind = 0; r >= 0 && kind < HINT_KINDS; kind++) {
		if (!option_given(hints->invocation, hint_kinds[kind].option) ||
		    hints_match(hints, kind))
			continue;
		r = hints_say_kind(hints, kind);
		said |= r;
	}
	if (r < 0 || said)
		return r < 0 ? r : 1;
	warn("each of these filters has samples in that window, but no sample passes all of them");
	return 1;
}

static int hints_read(struct hints *hints, struct store_reader *reader, const struct window *window,
		      struct error *error)
{
	const struct filter by_cpu = { .cpus = hints->filter.cpus };
	const struct scan_options scan = {
		.question = { .window = *window, .filter = &by_cpu },
		.threads = screen_threads(),
		.add = hints_add,
		.context = hints,
	};
	struct scanned scanned = { 0 };
	int r = scan_run(reader, &scan, &scanned, error);

	scanned_done(&scanned);
	return r;
}

int name_hints_say(const struct invocation *invocation, struct store_reader *reader,
		   const struct window *window, struct error *error)
{
	_cleanup_(hints_done) struct hints hints = {
		.invocation = invocation,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int r;

	if (filter_options_parse(invocation, &hints.filter) != EXIT_DONE ||
	    !filter_has_threads(&hints.filter))
		return 0;
	r = hints_read(&hints, reader, window, error);
	return r < 0 ? r : hints_say(&hints);
}

int name_hints_say_events(const struct invocation *invocation, struct store_reader *reader,
			  const struct question *question, struct error *error)
{
	_cleanup_(hint_names_done) struct hint_names events = { 0 };
	const struct event_cursor_options options = {
		.question = *question,
		.make = hint_event_make,
		.take = hint_event_take,
		.context = &events,
	};
	_cleanup_(event_cursor_totals_done) struct event_cursor_totals totals = { 0 };
	_cleanup_(buffer_done) struct buffer text = { 0 };
	int r = event_cursor_run(reader, &options, &totals, error);

	if (r < 0)
		return r;
	buffer_printf(&text, "no trace event is named '%.200s'", option_value(invocation, "name"));
	r = hints_put_names(&events, NULL, &text);
	if (r < 0)
		return r;
	warn("%s", buffer_shown(&text));
	return 1;
}
