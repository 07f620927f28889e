// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/live-names.h"
#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/version.h"
#include "cli/window-options.h"
#include "flamescope-export/flamescope.h"
#include "flamescope-export/parts.h"
#include "query/fold.h"
#include "query/json-samples.h"
#include "query/selection.h"
#include "store/store-reader.h"

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	FRAME_OPTIONS,
	{ "format", 0, "NAME", "flamescope (default), folded or json (a line a sample)" },
	{ "json", 0, NULL, "the same as --format json" },
	{ "weight", 0, "WHAT", "of folded: samples (default) or period" },
	{ "thread-frame", 0, NULL, "of flamescope: each stack begins with its thread" },
	{ "split", 0, "WHAT", "of flamescope: a file for each cpu, comm or pid, in the folder -o" },
	{ "output", 'o', "FILE",
		"write there; gzipped when it ends in .gz (default: standard output)" },
	{ 0 },
};

static const char about[] = WINDOW_ABOUT "\n"
					 "Exits with 3 when nothing is recorded in the window.\n";

enum format {
	FORMAT_FLAMESCOPE,
	FORMAT_FOLDED,
	FORMAT_JSON,
};

struct asked {
	struct question question;
	struct filter filter;
	struct live_names names;
	enum format format;
	enum folded_weight weight;
	bool split;
	enum parts_by split_by;
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
	return usage_error("--%s is %s%s%s or %s, not '%s'", name, words[0], words[2] ? ", " : "",
		words[2] ? words[1] : "", words[2] ? words[2] : words[1], value);
}

/* What goes with one format only. */
static int check_options(const struct invocation *invocation, const struct asked *asked)
{
	const char *output = option_value(invocation, "output");

	if (option_given(invocation, "json") && option_given(invocation, "format") &&
		asked->format != FORMAT_JSON)
		return usage_error("--json is --format json; give one");
	if (option_given(invocation, "weight") && asked->format != FORMAT_FOLDED)
		return usage_error("--weight goes with --format folded");
	if (option_given(invocation, "thread-frame") && asked->format != FORMAT_FLAMESCOPE)
		return usage_error("--thread-frame goes with --format flamescope");
	if (asked->split && asked->format != FORMAT_FLAMESCOPE)
		return usage_error("--split goes with --format flamescope");
	if (asked->split && (!output || strcmp(output, "-") == 0))
		return usage_error("--split writes several files: say into which folder, with -o");
	return EXIT_DONE;
}

static int parse_options(const struct invocation *invocation, struct asked *ret)
{
	static const char *const formats[] = { "flamescope", "folded", "json", NULL };
	static const char *const weights[] = { "samples", "period", NULL };
	static const char *const parts[] = { "cpu", "comm", "pid", NULL };
	int r = window_option_parse(invocation, &ret->question.window);
	int format = 0, weight = 0, part = 0;

	if (r == EXIT_DONE)
		r = parse_word(invocation, "format", formats, &format);
	if (r == EXIT_DONE)
		r = parse_word(invocation, "weight", weights, &weight);
	if (r == EXIT_DONE)
		r = parse_word(invocation, "split", parts, &part);
	if (option_given(invocation, "json") && !option_given(invocation, "format"))
		format = FORMAT_JSON;
	ret->format = format;
	ret->weight = weight;
	ret->split = option_given(invocation, "split");
	ret->split_by = part;
	if (r == EXIT_DONE)
		r = check_options(invocation, ret);
	return r == EXIT_DONE ? filter_options_parse(invocation, &ret->filter) : r;
}

static struct flamescope_options flamescope_options(
	const struct invocation *invocation, const struct asked *asked)
{
	return (struct flamescope_options){
		.filter = &asked->filter,
		.version = PERFTAPE_VERSION,
		.threads = screen_threads(),
		.thread_frame = option_given(invocation, "thread-frame"),
	};
}

static int write_part(const struct part *part, const struct flamescope_options *flamescope,
	const char *folder, struct error *error)
{
	_cleanup_free_ char *path = NULL;
	struct output output;
	int r;

	if (asprintf(&path, "%s/%s", folder, part->name) < 0)
		return -ENOMEM;
	r = output_open(&output, path, error);
	if (r < 0)
		return r;
	r = flamescope_write(&part->selection, flamescope, &output);
	if (r == 0)
		r = output_commit(&output, error);
	output_done(&output);
	return r;
}

static int write_parts(const struct invocation *invocation, const struct asked *asked,
	const struct selection *selection, struct error *error)
{
	_cleanup_(parts_done) struct parts parts = { 0 };
	struct flamescope_options flamescope = flamescope_options(invocation, asked);
	const char *folder = option_value(invocation, "output");
	int r = parts_make(selection, asked->split_by, &parts);

	if (r == 0 && mkdir(folder, 0777) < 0 && errno != EEXIST) {
		r = -errno;
		error_set(error, r, "cannot make the folder %s: %s", folder, strerror(-r));
	}
	flamescope.of_samples = selection->rows.count;
	for (size_t i = 0; r == 0 && i < parts.list.count; i++) {
		flamescope.part = parts.list.items[i].title;
		r = write_part(&parts.list.items[i], &flamescope, folder, error);
	}
	if (r == 0)
		say(invocation, "%zu files in %s", parts.list.count, folder);
	return r;
}

static int answer_split(const struct invocation *invocation, const struct asked *asked,
	const struct selection *selection)
{
	struct error error = { 0 };
	int r = write_parts(invocation, asked, selection, &error);

	return r < 0 ? fail(r, &error) : answer_code(invocation, &selection->coverage);
}

static int answer_flamescope(
	const struct invocation *invocation, const struct asked *asked, struct store_reader *reader)
{
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	struct flamescope_options flamescope = flamescope_options(invocation, asked);
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
	if (asked->split)
		return answer_split(invocation, asked, selection);
	r = output_open(&output, option_value(invocation, "output"), &error);
	if (r < 0)
		return fail(r, &error);
	r = flamescope_write(selection, &flamescope, &output);
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
	struct progress progress;
	struct fold_options fold_options = {
		.question = asked->question,
		.weight = asked->weight,
		.threads = screen_threads(),
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

/* Its coverage is known, and written, when all samples are. */
static int answer_json(
	const struct invocation *invocation, const struct asked *asked, struct store_reader *reader)
{
	_cleanup_(cleanup_cursor) struct cursor *cursor = NULL;
	const struct window *window = &asked->question.window;
	struct output output;
	struct error error = { 0 };
	uint64_t samples = 0;
	int r = cursor_open(reader, &asked->question, &cursor, &error), code;

	if (r == 0)
		r = output_open(&output, option_value(invocation, "output"), &error);
	if (r < 0)
		return fail(r, &error);
	r = json_samples_write(cursor, window, &output, &samples, &error);
	if (r < 0) {
		output_done(&output);
		return fail(r, &error);
	}
	code = answer_commit(invocation, &output, r, cursor_coverage(cursor));
	if (code == EXIT_FAILED || samples) {
		say_coverage(invocation, reader, window, samples, cursor_coverage(cursor));
		return code;
	}
	return answer_nothing(invocation, reader, window, cursor_coverage(cursor));
}

static int answer(const struct invocation *invocation, const struct asked *asked)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	say_window(invocation, &asked->question.window);
	if (asked->format == FORMAT_JSON)
		return answer_json(invocation, asked, reader);
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
