// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/fleet/fleet-answer.h"
#include "cli/fleet/fleet-top.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/screen.h"
#include "cli/screens/top-answer.h"
#include "cli/screens/top-live.h"
#include "cli/options/command.h"
#include "cli/window/window-options.h"

/* The length of a window of --live. */
#define LIVE_NS (10 * NSEC_PER_SEC)

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	{ "by", 0, "WHAT", "only: name, thread, cgroup, pod, function or path (a call path)" },
	{ "rows", 0, "N", "rows of each table (default: what fits, 20 in a pipe)" },
	{ "live", 0, NULL, "redraw the last 10 s every second; h shows the keys" },
	{ "baseline", 0, "LENGTH",
	  "compare with this much before and after the window (default: 12h)" },
	JSON_OPTION,
	FLEET_URL_OPTIONS,
	FLEET_LABEL_OPTION,
	{ "host", 0, "NAME", "with --fleet: only this host" },
	{ 0 },
};

static const char about[] =
	"Shows which CPUs were full, when and with what. Then come the busiest CPUs, threads and\n"
	"functions in per cent of one CPU, beside their usual values in the rest of the store.\n"
	"Unusual rows are marked and come first. Idle time does not count; the functions in a\n"
	"stack tell whether it is an interrupt.\n"
	"With --fleet, the functions with most samples of their own on all hosts, by default in\n"
	"the last 10 min; --by is function, thread or host there.\n"
	"\n" WINDOW_ABOUT;

static int parse_by(const struct invocation *invocation, enum tally_by *by)
{
	const char *text = option_value(invocation, "by");

	for (size_t i = 0; text && top_by_names[i]; i++)
		if (strcmp(text, top_by_names[i]) == 0) {
			*by = i;
			return EXIT_DONE;
		}
	return text ? usage_error(
			      "--by is name, thread, cgroup, pod, function or path, not '%.60s'",
			      text)
		    : EXIT_DONE;
}

static int parse_rows(const struct invocation *invocation, size_t *rows)
{
	const char *text = option_value(invocation, "rows");
	char *end;

	if (!text)
		return EXIT_DONE;
	errno = 0;
	*rows = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || !*rows)
		return usage_error("--rows: \"%.60s\" is not a number of rows; use 40", text);
	return EXIT_DONE;
}

/* --live always shows the present. */
static int parse_live(const struct invocation *invocation, struct top *top)
{
	static const char *const others[] = { "at",    "after",	 "from", "to",
					      "since", "until",	 "boot", "incident",
					      "line",  "strict", "json" };
	const char *length = option_value(invocation, "before");
	struct window *window = &top->args.question.window;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (option_given(invocation, others[i]))
			return usage_error("--live shows the present; it excludes --%s", others[i]);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return usage_error("--live needs a terminal; use --from now-10s in a pipe");
	window->to_ns = LIVE_NS;
	if (length && (duration_parse(length, &window->to_ns) < 0 || !window->to_ns))
		return usage_error("--before: \"%.60s\" is not a length of time; use 10s", length);
	return query_args_parse_filter(invocation, &top->args);
}

static int top_parse_options(const struct invocation *invocation, struct top *top)
{
	const char *around = option_value(invocation, "baseline");
	int r = option_given(invocation, "live") ? parse_live(invocation, top)
						 : query_args_parse(invocation, &top->args);

	top->around_ns = 12 * 3600 * NSEC_PER_SEC;
	if (r == EXIT_DONE)
		r = parse_by(invocation, &top->by);
	if (r == EXIT_DONE)
		r = parse_rows(invocation, &top->rows);
	if (r == EXIT_DONE)
		r = screen_read(invocation, &top->terminal);
	if (r == EXIT_DONE && around && duration_parse(around, &top->around_ns) < 0)
		r = usage_error("--baseline: \"%.60s\" is not a length of time; use 12h or 7d",
				around);
	return r;
}

static int top_print(const struct invocation *invocation, struct top *top, bool is_file)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	int r = 0;

	if (option_given(invocation, "json"))
		top_put_json(top, &text);
	else
		r = top_put_screen(invocation, top, is_file,
				   screen_lines_below(invocation, &top->sums.coverage), &text);
	return r < 0 ? fail(r, NULL) : screen_print_drawing(&top->terminal, &text);
}

static int top_answer(const struct invocation *invocation, struct top *top)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct window *window = &top->args.question.window;
	const struct coverage *coverage = &top->sums.coverage;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error), code;

	query_args_keep_memory();
	if (r < 0)
		return fail(r, &error);
	r = top_read_window(top, reader, option_given(invocation, "quiet"), &error);
	if (r < 0)
		return fail(r, &error);
	if (!top->sums.samples) {
		say_window(invocation, window);
		return screen_nothing(invocation, reader, window, coverage);
	}
	r = top_compare(top, reader, &error);
	if (r < 0)
		return fail(r, &error);
	code = top_print(invocation, top, store_reader_is_file(reader));
	if (option_given(invocation, "verbose"))
		r = say_stacks(invocation, reader, &top->args.question, top->threads, top->rows,
			       &error);
	if (r < 0)
		return fail(r, &error);
	say_gaps_and_recorder(invocation, reader, window, coverage);
	return code == EXIT_DONE ? coverage_line_code(invocation, coverage) : code;
}

static int top_run(const struct invocation *invocation)
{
	struct top top = {
		.started_ns = clock_ns(CLOCK_MONOTONIC),
		.threads = screen_threads(),
	};
	int r;

	if (option_given(invocation, "fleet"))
		return fleet_top(invocation);
	r = fleet_answer_refuse(invocation);
	if (r == EXIT_DONE)
		r = top_parse_options(invocation, &top);
	if (r == EXIT_DONE)
		r = option_given(invocation, "live") ? top_live(invocation, &top)
						     : top_answer(invocation, &top);
	top_done(&top);
	return r;
}

const struct command command_top = {
	.name = "top",
	.summary = "Show the busiest CPUs, threads and functions beside their usual values",
	.about = about,
	.options = options,
	.run = top_run,
};
