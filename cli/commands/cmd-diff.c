// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/fleet/fleet-answer.h"
#include "cli/fleet/fleet-diff.h"
#include "cli/answer/file-format.h"
#include "cli/answer/screen.h"
#include "cli/screens/diff-answer.h"
#include "cli/options/arguments.h"
#include "cli/window/window-options.h"

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	{ "by", 0, "WHAT", "only: function, name, thread, cgroup, pod, path or cpu" },
	{ "parts", 0, NULL, "rank by the part of the busy time, for hosts of unequal load" },
	{ "rows", 0, "N", "rows of each table (default: what fits, 20 in a pipe)" },
	{ "baseline", 0, "LENGTH",
	  "compare with this much before and after the window, such as 12h" },
	{ "output", 'o', "FILE", "write a differential flame graph: SVG, gzipped for .svgz" },
	OUTPUT_FORCE_OPTION,
	JSON_OPTION,
	FLEET_URL_OPTIONS,
	FLEET_LABEL_OPTION,
	{ 0 },
};

/* Options of a window, of which the second window may have its own. */
static const struct option window_options[] = {
	MOMENT_OPTIONS,
	FILTER_OPTIONS,
	{ "store", 0, "DIR|FILE", "" },
	{ 0 },
};

static const char about[] =
	"Compares two windows: 'diff --at 02:00 -- --at 03:12' shows which CPUs, threads and\n"
	"functions had more or less CPU time at 03:12 than at 02:00. The second window has the\n"
	"filter and the store of the first, unless it has its own: '--store b.tape' compares two\n"
	"hosts. Changes beyond sampling noise are marked and come first.\n"
	"With --fleet, compares hosts with --label zone=az3 with all others in one window.\n"
	"\n" WINDOW_ABOUT;

static const char *const diff_by_names[CHANGES_BYS] = {
	[CHANGES_BY_NAME] = "name",	    [CHANGES_BY_THREAD] = "thread",
	[CHANGES_BY_CGROUP] = "cgroup",	    [CHANGES_BY_POD] = "pod",
	[CHANGES_BY_FUNCTION] = "function", [CHANGES_BY_PATH] = "path",
	[CHANGES_BY_CPU] = "cpu",
};

static int diff_parse_by(struct diff *diff)
{
	const char *text = option_value(&diff->whole, "by");

	diff->by_given = text != NULL;
	for (int i = 0; text && i < CHANGES_BYS; i++)
		if (strcmp(text, diff_by_names[i]) == 0) {
			diff->by = i;
			return EXIT_DONE;
		}
	if (!text)
		return EXIT_DONE;
	return usage_error("--by is function, name, thread, cgroup, pod, path or cpu, not '%.60s'",
			   text);
}

static int diff_parse_rows(struct diff *diff)
{
	const char *text = option_value(&diff->whole, "rows");
	char *end;

	if (!text)
		return EXIT_DONE;
	errno = 0;
	diff->rows = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || !diff->rows)
		return usage_error("--rows: \"%.60s\" is not a number of rows; use 40", text);
	return EXIT_DONE;
}

static int diff_parse_baseline(struct diff *diff)
{
	const char *text = option_value(&diff->whole, "baseline");

	if (text && (duration_parse(text, &diff->around_ns) < 0 || !diff->around_ns))
		return usage_error("--baseline: \"%.60s\" is not a length of time; use 12h or 7d",
				   text);
	if (text && diff->whole.word_count)
		return usage_error(
			"--baseline is the window to compare with; leave out --, or --baseline");
	if (!text && !diff->whole.word_count)
		return usage_error(
			"diff needs two windows: diff --at 02:00 -- --at 03:12; or --baseline 12h");
	return EXIT_DONE;
}

/* Refuses a name that promises another format, because its reader would fail on the file. */
static int diff_check_output(const struct diff *diff)
{
	const char *path = option_value(&diff->whole, "output");
	enum file_format format = file_format_of(path);

	if (path && option_given(&diff->whole, "json"))
		return usage_error("--json and --output exclude each other; give one");
	if (!path || format == FILE_FORMAT_ANY || format == FILE_FORMAT_SVG)
		return EXIT_DONE;
	return usage_error("--output '%.200s': diff writes SVG; use a name such as diff.svg", path);
}

static const struct option *diff_find(const struct option *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

/*
 * Returns whether the second window has an option of the first: not its moment, but the lengths
 * beside the moment.
 */
static bool diff_inherits(const struct invocation *typed, const char *name)
{
	static const struct option moments[] = { MOMENT_OPTIONS, { 0 } };
	bool around = option_typed(typed, "at") || option_typed(typed, "incident") ||
		      option_typed(typed, "line");

	if (strcmp(name, "before") == 0 || strcmp(name, "after") == 0)
		return around;
	return !diff_find(moments, name);
}

static void diff_take_option(struct invocation *to, const struct invocation *from, size_t i)
{
	if (to->given_count < OPTIONS_MAX)
		to->given[to->given_count++] = from->given[i];
}

/*
 * Gives each window its options. The second one has the filter and the store of the first. Options
 * about the answer may stand on either side of the --.
 */
static void diff_share_options(struct diff *diff, const struct invocation *typed)
{
	struct invocation *first = &diff->before.invocation, *second = &diff->after.invocation;

	for (size_t i = 0; i < typed->given_count; i++)
		if (!diff_find(window_options, typed->given[i].option->name))
			diff_take_option(&diff->whole, typed, i);
	*first = *second = diff->whole;
	second->given_count = 0;
	for (size_t i = 0; i < first->given_count; i++)
		if (diff_inherits(typed, first->given[i].option->name))
			diff_take_option(second, first, i);
	for (size_t i = 0; i < typed->given_count; i++)
		if (diff_find(window_options, typed->given[i].option->name))
			diff_take_option(second, typed, i);
	if (option_typed(typed, "store"))
		second->store = option_value(typed, "store");
}

/* Parses the words behind the -- as the options of the second window. */
static int diff_parse_second(struct diff *diff)
{
	const struct invocation *whole = &diff->whole;
	struct command window = command_diff;
	_cleanup_free_ char **words = calloc(whole->word_count + 1, sizeof(*words));
	struct invocation typed = { .command = &window };
	int r;

	if (!whole->word_count)
		return EXIT_DONE;
	if (!words)
		return fail(-ENOMEM, NULL);
	memcpy(words, whole->words, whole->word_count * sizeof(*words));
	window.arguments = NULL;
	r = arguments_parse(words, &typed);
	if (r != EXIT_DONE)
		return r;
	if (whole->given_count + typed.given_count > OPTIONS_MAX)
		return usage_error("more than %d options", OPTIONS_MAX);
	diff_share_options(diff, &typed);
	return EXIT_DONE;
}

static int diff_parse_windows(struct diff *diff)
{
	int r = EXIT_DONE;

	if (!diff->around_ns)
		r = query_args_parse(&diff->before.invocation, &diff->before.args);
	return r == EXIT_DONE ? query_args_parse(&diff->after.invocation, &diff->after.args) : r;
}

static int diff_parse(struct diff *diff)
{
	int r;

	/* with --baseline, the only window is the later one */
	diff->before.invocation = diff->after.invocation = diff->whole;
	r = diff_parse_second(diff);
	if (r == EXIT_DONE)
		r = diff_parse_by(diff);
	if (r == EXIT_DONE)
		r = diff_parse_rows(diff);
	if (r == EXIT_DONE)
		r = diff_parse_baseline(diff);
	if (r == EXIT_DONE)
		r = diff_check_output(diff);
	if (r == EXIT_DONE)
		r = diff_parse_windows(diff);
	diff->parts = option_given(&diff->whole, "parts");
	return r == EXIT_DONE ? screen_read(&diff->whole, &diff->terminal) : r;
}

static int diff_run_both(struct diff *diff)
{
	struct error error = { 0 };
	int r = diff_open(diff, &error);

	if (r < 0)
		return fail(r, &error);
	return option_given(&diff->whole, "output") ? diff_picture(diff) : diff_answer(diff);
}

static int diff_run(const struct invocation *invocation)
{
	struct diff diff = { .whole = *invocation };
	int r;

	if (option_given(invocation, "fleet"))
		return fleet_diff(invocation);
	r = fleet_answer_refuse(invocation);
	if (r == EXIT_DONE)
		r = diff_parse(&diff);
	if (r == EXIT_DONE)
		r = diff_run_both(&diff);
	diff_done(&diff);
	return r;
}

const struct command command_diff = {
	.name = "diff",
	.arguments = "-- WINDOW",
	.summary = "Compare two windows, or a window with the time around it",
	.about = about,
	.options = options,
	.run = diff_run,
};
