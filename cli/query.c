// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/version.h"
#include "flamescope-export/flamescope.h"
#include "query/folded.h"
#include "query/selection.h"
#include "query/window.h"
#include "store/store-reader.h"

static const struct option options[] = {
	{ "at", 0, "TIME", "the moment to look at, with what is around it" },
	{ "before", 0, "LENGTH", "how much before it (default: 30s)" },
	{ "after", 0, "LENGTH", "how much after it (default: 5s)" },
	{ "from", 0, "TIME", "or: the start of the window" },
	{ "to", 0, "TIME", "and its end (default: now)" },
	{ "since", 0, "TIME", "the same as --from" },
	{ "until", 0, "TIME", "the same as --to" },
	{ "cpu", 0, "LIST", "only these CPUs, such as 3,8-11" },
	{ "format", 0, "NAME", "flamescope (default) or folded" },
	{ "weight", 0, "WHAT", "of folded: samples (default) or period" },
	{ "output", 'o', "FILE",
		"write there; gzipped when it ends in .gz (default: standard output)" },
	{ 0 },
};

static const char about[] =
	"A moment: 2026-11-18T03:12:07+01:00, '2026-11-18 03:12', 03:12:07, 'yesterday 23:00',\n"
	"now, now-10m, '10m ago', @1762918327.25. Local time where no offset is given.\n"
	"A length: 250ms, 5s, 2m, 12h, 7d.\n"
	"\n"
	"Exits with 3 when nothing is recorded in the window.\n";

enum format {
	FORMAT_FLAMESCOPE,
	FORMAT_FOLDED,
};

struct question {
	struct window window;
	struct cpu_set_filter cpus;
	enum format format;
	enum folded_weight weight;
};

/* --since is --from under another name. */
static int either(const struct invocation *invocation, const char *name, const char *other,
	const char **ret_value)
{
	*ret_value = option_value(invocation, name);
	if (!option_given(invocation, other))
		return EXIT_DONE;
	if (*ret_value)
		return usage_error("--%s and --%s are the same; give one", name, other);
	*ret_value = option_value(invocation, other);
	return EXIT_DONE;
}

static int parse_window(const struct invocation *invocation, struct window *ret_window)
{
	struct window_request request = {
		.at = option_value(invocation, "at"),
		.before = option_value(invocation, "before"),
		.after = option_value(invocation, "after"),
		.utc = option_given(invocation, "utc"),
		.now_ns = clock_ns(CLOCK_REALTIME),
	};
	struct error error = { 0 };
	int r = either(invocation, "from", "since", &request.from);

	if (r == EXIT_DONE)
		r = either(invocation, "to", "until", &request.to);
	if (r == EXIT_DONE && window_parse(&request, ret_window, &error) < 0)
		r = usage_error("%s", error.text);
	return r;
}

/* The number of a word in a list that ends with NULL. */
static int parse_word(const struct invocation *invocation, const char *name,
	const char *const *words, int *ret_word)
{
	const char *value = option_value(invocation, name);

	*ret_word = 0;
	for (int i = 0; value && words[i]; i++)
		if (strcmp(words[i], value) == 0) {
			*ret_word = i;
			return EXIT_DONE;
		}
	if (!value)
		return EXIT_DONE;
	return usage_error("--%s is %s or %s, not '%s'", name, words[0], words[1], value);
}

static int parse_question(const struct invocation *invocation, struct question *ret)
{
	static const char *const formats[] = { "flamescope", "folded", NULL };
	static const char *const weights[] = { "samples", "period", NULL };
	const char *cpus = option_value(invocation, "cpu");
	int r = parse_window(invocation, &ret->window), format = 0, weight = 0;
	struct error error = { 0 };

	if (r == EXIT_DONE)
		r = parse_word(invocation, "format", formats, &format);
	if (r == EXIT_DONE)
		r = parse_word(invocation, "weight", weights, &weight);
	if (r == EXIT_DONE && option_given(invocation, "weight") && format != FORMAT_FOLDED)
		r = usage_error("--weight goes with --format folded");
	if (r == EXIT_DONE && cpus && cpu_filter_parse(cpus, &ret->cpus, &error) < 0)
		r = usage_error("%s", error.text);
	ret->format = format;
	ret->weight = weight;
	return r;
}

static void say_window(const struct invocation *invocation, const struct window *window)
{
	struct buffer text = { 0 };

	window_describe(window, option_given(invocation, "utc"), &text);
	say(invocation, "window %.*s", (int)text.size, text.data ? (char *)text.data : "");
	if (window->note[0])
		say(invocation, "note: %s", window->note);
	buffer_done(&text);
}

static void say_gaps(const struct invocation *invocation, const struct coverage *coverage)
{
	bool utc = option_given(invocation, "utc");

	for (size_t i = 0; i < coverage->gaps.count; i++) {
		const struct selection_gap *gap = &coverage->gaps.items[i];
		char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

		say(invocation, "missing: %s to %s: %s", time_format(gap->from_ns, utc, 3, from),
			time_format(gap->to_ns, utc, 3, to), gap->why);
	}
}

/* With -q too where something is missing: folded stacks cannot say it themselves, and nothing is silently missing. */
static void say_coverage(const struct invocation *invocation, const struct selection *selection)
{
	const struct coverage *coverage = &selection->coverage;
	struct buffer text = { 0 };

	if (!option_given(invocation, "quiet") || !coverage_is_whole(coverage)) {
		coverage_describe(coverage, &text);
		fprintf(stderr, "perftape: %zu samples; %.*s\n", selection->rows.count,
			(int)text.size, text.data ? (char *)text.data : "");
		buffer_done(&text);
	}
	say_gaps(invocation, coverage);
}

/* "nothing is recorded there; the nearest is ..." */
/* What is being recorded is in the store when its segment is sealed, and not before. */
static void say_recorder(struct store_reader *reader, const struct window *window)
{
	int pid = store_reader_recorder(reader);
	uint64_t sealed_ns = 0, after_ns;

	if (!pid ||
		store_reader_near(reader, UINT64_MAX, UINT64_MAX, &sealed_ns, &after_ns, NULL) <
			0 ||
		window->to_ns <= sealed_ns)
		return;
	fprintf(stderr,
		"perftape: process %d is recording; what it took since the last segment can be "
		"asked "
		"for when the next one is sealed (record --segment says how long they are)\n",
		pid);
}

static int never_recorded(const struct invocation *invocation, struct store_reader *reader,
	const struct window *window)
{
	bool utc = option_given(invocation, "utc");
	char before[TIME_TEXT_SIZE], after[TIME_TEXT_SIZE];
	uint64_t before_ns, after_ns;
	struct error error = { 0 };
	int r = store_reader_near(
		reader, window->from_ns, window->to_ns, &before_ns, &after_ns, &error);

	if (r < 0)
		return fail(r, &error);
	fprintf(stderr, "perftape: nothing is recorded in that window");
	if (before_ns)
		fprintf(stderr, "; the last before it ends %s",
			time_format(before_ns, utc, 0, before));
	if (after_ns)
		fprintf(stderr, "; the first after it begins %s",
			time_format(after_ns, utc, 0, after));
	fputc('\n', stderr);
	say_recorder(reader, window);
	return EXIT_NOTHING;
}

/* What was recorded and cannot be read; NULL where there is nothing of that kind. */
static const struct selection_gap *first_unread(const struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->gaps.count; i++)
		if (coverage->gaps.items[i].unread)
			return &coverage->gaps.items[i];
	return NULL;
}

/* Why there is no sample. */
static int nothing(const struct invocation *invocation, struct store_reader *reader,
	const struct selection *selection)
{
	const struct coverage *coverage = &selection->coverage;
	const struct selection_gap *unread = first_unread(coverage);

	if (!option_given(invocation, "quiet") && (coverage->covered_ns || unread))
		say_coverage(invocation, selection);
	if (unread) {
		fprintf(stderr, "perftape: what was recorded in that window cannot be read: %s\n",
			unread->why);
		return EXIT_FAILED;
	}
	if (coverage->lost_samples)
		fprintf(stderr,
			"perftape: no sample that passes is left of that window: %s%llu of it were "
			"lost\n",
			coverage->lost_over_edge ? "up to " : "",
			(unsigned long long)coverage->lost_samples);
	else if (coverage->covered_ns)
		fprintf(stderr, "perftape: that window was recorded, but holds no sample%s\n",
			option_given(invocation, "cpu") ? " of these CPUs" : "");
	else
		return never_recorded(invocation, reader, &selection->window);
	return EXIT_NOTHING;
}

static int write_answer(const struct invocation *invocation, const struct question *question,
	const struct selection *selection)
{
	struct output output;
	struct error error = { 0 };
	int r = output_open(&output, option_value(invocation, "output"), &error);

	if (r < 0)
		return fail(r, &error);
	if (question->format == FORMAT_FOLDED)
		r = folded_write(selection, question->weight, &output);
	else
		r = flamescope_write(selection, &question->cpus, PERFTAPE_VERSION, &output);
	if (r == 0)
		r = output_commit(&output, &error);
	output_done(&output);
	/* a reader that has seen enough is no failure */
	return r < 0 && r != -EPIPE ? fail(r, &error) : EXIT_DONE;
}

static int answer(const struct invocation *invocation, const struct question *question)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	say_window(invocation, &question->window);
	r = selection_make(reader, &question->window, &question->cpus, &selection, &error);
	if (r < 0)
		return fail(r, &error);
	if (selection->rows.count == 0)
		return nothing(invocation, reader, selection);
	say_coverage(invocation, selection);
	say_recorder(reader, &question->window);
	return write_answer(invocation, question, selection);
}

static int run(const struct invocation *invocation)
{
	struct question question = { 0 };
	int r = parse_question(invocation, &question);

	if (r == EXIT_DONE)
		r = answer(invocation, &question);
	cpu_filter_done(&question.cpus);
	return r;
}

const struct command command_query = {
	.name = "query",
	.summary = "Write the samples of a window, for Flamescope by default",
	.about = about,
	.options = options,
	.run = run,
};
