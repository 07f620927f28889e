// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/live-names.h"
#include "cli/progress.h"
#include "cli/version.h"
#include "cli/window-options.h"
#include "flamescope-export/flamescope.h"
#include "query/fold.h"
#include "query/selection.h"
#include "store/store-reader.h"

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	{ "format", 0, "NAME", "flamescope (default) or folded" },
	{ "weight", 0, "WHAT", "of folded: samples (default) or period" },
	{ "output", 'o', "FILE",
		"write there; gzipped when it ends in .gz (default: standard output)" },
	{ 0 },
};

static const char about[] = WINDOW_ABOUT "\n"
					 "Exits with 3 when nothing is recorded in the window.\n";

enum format {
	FORMAT_FLAMESCOPE,
	FORMAT_FOLDED,
};

struct asked {
	struct question question;
	struct filter filter;
	struct live_names names;
	enum format format;
	enum folded_weight weight;
};

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

static int parse_options(const struct invocation *invocation, struct asked *ret)
{
	static const char *const formats[] = { "flamescope", "folded", NULL };
	static const char *const weights[] = { "samples", "period", NULL };
	int r = window_option_parse(invocation, &ret->question.window), format = 0, weight = 0;

	if (r == EXIT_DONE)
		r = parse_word(invocation, "format", formats, &format);
	if (r == EXIT_DONE)
		r = parse_word(invocation, "weight", weights, &weight);
	if (r == EXIT_DONE && option_given(invocation, "weight") && format != FORMAT_FOLDED)
		r = usage_error("--weight goes with --format folded");
	if (r == EXIT_DONE)
		r = filter_options_parse(invocation, &ret->filter);
	ret->format = format;
	ret->weight = weight;
	return r;
}

static int answer_flamescope(
	const struct invocation *invocation, const struct asked *asked, struct store_reader *reader)
{
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	const struct window *window = &asked->question.window;
	struct output output;
	struct error error = { 0 };
	int r = selection_make(reader, &asked->question, &selection, &error);

	if (r < 0)
		return fail(r, &error);
	if (!selection->rows.count)
		return answer_nothing(invocation, reader, window, &selection->coverage);
	say_coverage(invocation, reader, window, selection->rows.count, &selection->coverage);
	if (option_given(invocation, "verbose"))
		say(invocation, "segments opened: %zu", selection->opened);
	r = output_open(&output, option_value(invocation, "output"), &error);
	if (r < 0)
		return fail(r, &error);
	r = flamescope_write(selection, &asked->filter, PERFTAPE_VERSION, &output);
	return answer_commit(invocation, &output, r, &selection->coverage);
}

/*
 * Each segment takes the same room as the one before. Without this every large piece of it would go back to the kernel in between, and be
 * cleared page by page for the next one.
 */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

static int answer_folded(
	const struct invocation *invocation, const struct asked *asked, struct store_reader *reader)
{
	const struct window *window = &asked->question.window;
	_cleanup_(fold_done) struct fold fold = { 0 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct progress progress;
	struct fold_options fold_options = {
		.question = asked->question,
		.weight = asked->weight,
		.threads = MAX(cpus, 1),
		.progress = progress_show,
		.progress_context = &progress,
	};
	struct output output;
	struct error error = { 0 };
	int r;

	keep_memory();
	progress_start(&progress, "segments", option_given(invocation, "quiet"));
	r = fold_run(reader, &fold_options, &fold, &error);
	progress_end(&progress);
	if (r < 0)
		return fail(r, &error);
	if (!fold.samples)
		return answer_nothing(invocation, reader, window, &fold.coverage);
	say_coverage(invocation, reader, window, fold.samples, &fold.coverage);
	if (option_given(invocation, "verbose"))
		say(invocation, "segments opened: %llu, %llu of them without their samples",
			(unsigned long long)fold.segments, (unsigned long long)fold.summed);
	r = output_open(&output, option_value(invocation, "output"), &error);
	if (r < 0)
		return fail(r, &error);
	r = folded_write(fold.folded, &output);
	return answer_commit(invocation, &output, r, &fold.coverage);
}

static int answer(const struct invocation *invocation, const struct asked *asked)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	say_window(invocation, &asked->question.window);
	return asked->format == FORMAT_FOLDED ? answer_folded(invocation, asked, reader)
					      : answer_flamescope(invocation, asked, reader);
}

static int run(const struct invocation *invocation)
{
	struct asked asked = { 0 };
	int r = parse_options(invocation, &asked);

	asked.question.filter = &asked.filter;
	asked.question.name = live_names_give;
	asked.question.context = &asked.names;
	if (r == EXIT_DONE)
		r = answer(invocation, &asked);
	live_names_done(&asked.names);
	filter_done(&asked.filter);
	return r;
}

const struct command command_query = {
	.name = "query",
	.summary = "Write the samples of a window, for Flamescope by default",
	.about = about,
	.options = options,
	.run = run,
};
