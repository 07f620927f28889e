// SPDX-License-Identifier: GPL-2.0-only
#include "cli/window/window-options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/window/incident-window.h"
#include "query/window/glob.h"
#include "query/read/uptime.h"
#include "store/read/store-reader.h"

bool window_given(const struct invocation *invocation)
{
	static const char *const names[] = { "at",    "before", "after", "from",     "to",
					     "since", "until",	"boot",	 "incident", "line" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (option_given(invocation, names[i]))
			return true;
	return false;
}

/* --since is another name for --from. */
static int window_options_either(const struct invocation *invocation, const char *name,
				 const char *other, const char **ret_value)
{
	*ret_value = option_value(invocation, name);
	if (!option_given(invocation, other))
		return EXIT_DONE;
	if (*ret_value)
		return usage_error("--%s and --%s are the same; give one", name, other);
	*ret_value = option_value(invocation, other);
	return EXIT_DONE;
}

/* Reports that --boot has no effect on the window. A wrong boot would otherwise go unnoticed. */
static int window_options_refuse_boot(void)
{
	return usage_error("--boot goes with --line, or with a time such as [12345.678901]");
}

/* Sets the window of an incident. Sets *ret_done to false if no option names an incident. */
static int parse_incident(const struct invocation *invocation, struct window *ret_window,
			  bool *ret_done)
{
	static const char *const others[] = { "at", "from", "to", "since", "until" };
	bool incident = option_given(invocation, "incident");
	bool line = option_given(invocation, "line");

	*ret_done = incident || line;
	for (size_t i = 0; *ret_done && i < ARRAY_SIZE(others); i++)
		if (option_given(invocation, others[i]))
			return usage_error("--%s and --%s are two windows; give one",
					   incident ? "incident" : "line", others[i]);
	if (incident && line)
		return usage_error("--incident and --line are two windows; give one");
	if (incident && option_given(invocation, "boot"))
		return window_options_refuse_boot();
	if (incident)
		return incident_window(invocation, ret_window);
	return line ? line_window(invocation, ret_window) : EXIT_DONE;
}

struct uptime_finder {
	const struct invocation *invocation;
	/* The window has an uptime, so --boot counts. */
	bool used;
};

/* Converts an uptime. Opens the store only here, because most windows do not need it. */
static int window_options_find_uptime(void *context, uint64_t uptime_ns, uint64_t *ret_realtime_ns,
				      char *note, size_t size, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct uptime_finder *finder = context;
	const struct invocation *invocation = finder->invocation;
	char time[TIME_TEXT_SIZE], apart[64], off[64];
	struct uptime_moment moment;
	int r = store_reader_open(store_path(invocation), &reader, error);

	finder->used = true;
	if (r < 0)
		return r;
	r = uptime_find(reader, uptime_ns, option_value(invocation, "boot"), &moment, error);
	if (r < 0)
		return r;
	*ret_realtime_ns = moment.realtime_ns;
	duration_format(MAX(moment.error_ns, NSEC_PER_USEC), off, sizeof(off));
	duration_format(moment.beside_ns, apart, sizeof(apart));
	time_format(moment.realtime_ns, option_given(invocation, "utc"), 6, time);
	snprintf(note, size, "%s, within %s%s%.8s%s%s%s", time, off,
		 moment.boot_id[0] ? ", of boot " : "", moment.boot_id,
		 moment.beside_ns ? ", " : "", moment.beside_ns ? apart : "",
		 moment.beside_ns ? " outside the recorded part of that boot" : "");
	return 0;
}

static uint64_t number_of(const struct tape *tape, const char *fact)
{
	return strtoull(tape_fact(tape, fact), NULL, 10);
}

static void widen(struct window *window, uint64_t from_ns, uint64_t to_ns)
{
	window->from_ns = window->to_ns ? MIN(window->from_ns, from_ns) : from_ns;
	window->to_ns = MAX(window->to_ns, to_ns);
}

/*
 * Adds the window that a segment of a snapshot states. Snapshots of older versions do not state a
 * window.
 */
static int add_stated(struct store_reader *reader, const struct store_segment *segment,
		      struct window *window, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, 0, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	uint64_t from_ns, to_ns;
	int r = store_reader_load(reader, segment, &want, &tape, error);

	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	from_ns = number_of(tape, TAPE_WINDOW_FROM);
	to_ns = number_of(tape, TAPE_WINDOW_TO);
	if (from_ns >= to_ns)
		return 0;
	widen(window, from_ns, to_ns);
	window->at_ns = window->at_ns ? window->at_ns : number_of(tape, TAPE_WINDOW_AT);
	return 0;
}

/*
 * Finds the window that a snapshot states. If it does not state a window, uses the time of its
 * segments.
 */
static int window_options_read_file(struct store_reader *reader, struct window *ret_window,
				    struct error *error)
{
	struct window stated = { 0 }, recorded = { 0 };
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);

	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];

		if (segment->begin_ns)
			widen(&recorded, segment->begin_ns, segment->end_ns);
		if (!*segment->damage)
			r = add_stated(reader, segment, &stated, error);
	}
	*ret_window = stated.to_ns ? stated : recorded;
	return r;
}

/*
 * Uses a .tape file's own window if the user selected none. Sets *ret_done to false for other
 * stores.
 */
static int window_options_take_file(const struct invocation *invocation, struct window *ret_window,
				    bool *ret_done)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct error error = { 0 };
	struct stat about;
	int r;

	*ret_done = !window_given(invocation) && stat(store_path(invocation), &about) == 0 &&
		    S_ISREG(about.st_mode);
	if (!*ret_done)
		return EXIT_DONE;
	r = store_reader_open(store_path(invocation), &reader, &error);
	if (r < 0)
		return fail(r, &error);
	r = window_options_read_file(reader, ret_window, &error);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

int window_option_parse(const struct invocation *invocation, struct window *ret_window)
{
	return window_option_parse_around(invocation, NULL, ret_window);
}

int window_option_parse_around(const struct invocation *invocation, const char *around,
			       struct window *ret_window)
{
	struct uptime_finder finder = { .invocation = invocation };
	struct window_request request = {
		.at = option_value(invocation, "at"),
		.before = option_value(invocation, "before"),
		.after = option_value(invocation, "after"),
		.utc = option_given(invocation, "utc"),
		.now_ns = clock_ns(CLOCK_REALTIME),
		.uptime = window_options_find_uptime,
		.context = &finder,
	};
	struct error error = { 0 };
	bool done;
	int r = window_options_take_file(invocation, ret_window, &done);

	if (r == EXIT_DONE && !done)
		r = parse_incident(invocation, ret_window, &done);
	if (r != EXIT_DONE || done)
		return r;
	if (request.at && !request.before)
		request.before = around;
	if (request.at && !request.after)
		request.after = around;
	r = window_options_either(invocation, "from", "since", &request.from);
	if (r == EXIT_DONE)
		r = window_options_either(invocation, "to", "until", &request.to);
	if (r != EXIT_DONE)
		return r;
	request.from_name = option_given(invocation, "since") ? "--since" : NULL;
	request.to_name = option_given(invocation, "until") ? "--until" : NULL;
	r = window_parse(&request, ret_window, &error);
	if (r == -EINVAL)
		return usage_error("%s", error.text);
	if (r < 0)
		fail(r, &error);
	if (r == -ENXIO)
		return EXIT_NOTHING;
	if (r < 0)
		return EXIT_FAILED;
	return option_given(invocation, "boot") && !finder.used ? window_options_refuse_boot()
								: EXIT_DONE;
}

static int parse_ids(const struct invocation *invocation, const char *name,
		     struct filter_ids *ret_ids)
{
	const char *text = option_value(invocation, name);
	struct error error = { 0 };

	if (!text || filter_parse_ids(text, ret_ids, &error) == 0)
		return EXIT_DONE;
	return usage_error("--%s: %s", name, error.text);
}

int glob_option_check(const struct invocation *invocation, const char *name)
{
	const char *pattern = option_value(invocation, name);
	struct error error = { 0 };

	if (!pattern || glob_check(pattern, &error) == 0)
		return EXIT_DONE;
	return usage_error("--%s: %s", name, error.text);
}

_Static_assert(GLOBS_MAX >= OPTIONS_MAX + 1, "every option, and a setting, may be a pattern");

int globs_option_parse(const struct invocation *invocation, const char *name,
		       struct globs *ret_globs)
{
	const char *last = option_value(invocation, name);
	struct error error = { 0 };

	ret_globs->count = 0;
	for (size_t i = 0; i < invocation->given_count; i++)
		if (strcmp(invocation->given[i].option->name, name) == 0)
			ret_globs->list[ret_globs->count++] = invocation->given[i].value;
	if (last && !ret_globs->count)
		ret_globs->list[ret_globs->count++] = last;
	for (size_t i = 0; i < ret_globs->count; i++)
		if (glob_check(ret_globs->list[i], &error) < 0)
			return usage_error("--%s: %s", name, error.text);
	return EXIT_DONE;
}

int filter_options_parse(const struct invocation *invocation, struct filter *ret_filter)
{
	const char *cpus = option_value(invocation, "cpu");
	struct error error = { 0 };
	int r;

	ret_filter->comm = option_value(invocation, "comm");
	ret_filter->cgroup = option_value(invocation, "cgroup");
	ret_filter->no_idle = option_given(invocation, "no-idle");
	if (option_given(invocation, "kernel") && option_given(invocation, "user"))
		return usage_error("--kernel and --user exclude each other; give one");
	if (option_given(invocation, "kernel"))
		ret_filter->frames = FILTER_FRAMES_KERNEL;
	else if (option_given(invocation, "user"))
		ret_filter->frames = FILTER_FRAMES_USER;
	r = glob_option_check(invocation, "comm");
	if (r == EXIT_DONE)
		r = glob_option_check(invocation, "cgroup");
	if (r == EXIT_DONE)
		r = parse_ids(invocation, "pid", &ret_filter->pids);
	if (r == EXIT_DONE)
		r = parse_ids(invocation, "tid", &ret_filter->tids);
	if (r == EXIT_DONE && cpus && cpu_filter_parse(cpus, &ret_filter->cpus, &error) < 0)
		r = usage_error("%s", error.text);
	return r;
}

void say_window(const struct invocation *invocation, const struct window *window)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	window_describe(window, option_given(invocation, "utc"), &text);
	say(invocation, "window %s", buffer_shown(&text));
	say_window_note(invocation, window);
}

void say_window_note(const struct invocation *invocation, const struct window *window)
{
	if (window->note[0])
		say(invocation, "note: %s", window->note);
}
