// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/number.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/file-format.h"
#include "cli/answer/guarded-output.h"
#include "cli/answer/query-args.h"
#include "cli/options/command.h"
#include "cli/commands/fleet-window.h"
#include "cli/commands/query-events.h"
#include "cli/answer/screen.h"
#include "cli/version.h"
#include "cli/window/window-options.h"
#include "flamescope-export/flamescope.h"
#include "flamescope-export/parts.h"
#include "query/text/json-samples.h"
#include "query/read/selection.h"
#include "store/read/store-reader.h"

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	{ "events", 0, NULL,
	  "print trace events instead of samples, as lines or with --format json" },
	{ "name", 0, "GLOB",
	  "with --events: only events that match, such as 'cgroup:*' (repeatable)" },
	{ "format", 0, "flamescope|folded|json",
	  "default: by the name after -o, else flamescope; json is a line for each sample" },
	{ "json", 0, NULL, "the same as --format json" },
	{ "weight", 0, "samples|period", "with folded: what to count (default: samples)" },
	{ "mark", 0, "LIST", "with folded: host, as first frame; kernel, as _[k]; jit, as _[j]" },
	{ "no-header", 0, NULL, "with flamescope: begin with the first event" },
	{ "thread-frame", 0, NULL, "with flamescope: each stack begins with its thread" },
	{ "split", 0, "cpu|comm|pid",
	  "with flamescope: a file for each cpu, comm or pid, in the folder -o" },
	{ "output", 'o', "FILE",
	  "file: .folded, .json, else for Flamescope; gzipped for .gz (default: standard output)" },
	OUTPUT_FORCE_OPTION,
	FLEET_OPTIONS,
	{ 0 },
};

static const char about[] = WINDOW_ABOUT "\n"
					 "Exit code 3: nothing is recorded in the window.\n";

enum format {
	FORMAT_FLAMESCOPE,
	FORMAT_FOLDED,
	FORMAT_JSON,
};

struct query {
	struct query_args args;
	enum format format;
	enum folded_weight weight;
	/* A set of enum folded_marks. */
	unsigned int marks;
	/* The host is the first frame of folded stacks. */
	bool mark_host;
	bool split;
	enum parts_by split_by;
};

/* Sets the index of a word in a list that ends with NULL. */
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

/*
 * Chooses the format by the name of the file, because a user who names y.json expects JSON. Refuses
 * a name that promises another format: its reader would fail on the file.
 */
static int format_by_name(const char *path, enum format *ret_format)
{
	switch (file_format_of(path)) {
	case FILE_FORMAT_FOLDED:
		*ret_format = FORMAT_FOLDED;
		return EXIT_DONE;
	case FILE_FORMAT_JSON:
		*ret_format = FORMAT_JSON;
		return EXIT_DONE;
	case FILE_FORMAT_SVG:
		return usage_error("--output '%.200s': an SVG is drawn by perftape flamegraph",
				   path);
	case FILE_FORMAT_TAPE:
		return usage_error("--output '%.200s': a .tape is written by perftape snapshot",
				   path);
	case FILE_FORMAT_OTHER:
		return usage_error("--output '%.200s': query writes .stacks, .folded and .json",
				   path);
	default:
		*ret_format = FORMAT_FLAMESCOPE;
		return EXIT_DONE;
	}
}

/*
 * Chooses the format. An option that names the format takes precedence over the name of the file.
 */
static int parse_format(const struct invocation *invocation, enum format *ret_format)
{
	static const char *const formats[] = { "flamescope", "folded", "json", NULL };
	int word, r = parse_word(invocation, "format", formats, &word);

	*ret_format = word;
	if (r != EXIT_DONE || option_given(invocation, "format"))
		return r;
	if (option_given(invocation, "json")) {
		*ret_format = FORMAT_JSON;
		return EXIT_DONE;
	}
	/* here, -o names a folder */
	if (option_given(invocation, "split"))
		return EXIT_DONE;
	return format_by_name(option_value(invocation, "output"), ret_format);
}

/* Reads a list such as "host,kernel,jit". */
static int parse_marks(const struct invocation *invocation, struct query *query)
{
	const char *list = option_value(invocation, "mark");
	_cleanup_free_ char *copy = list ? strdup(list) : NULL;
	char *rest = copy;

	for (char *word; (word = strsep(&rest, ","));)
		if (strcmp(word, "kernel") == 0)
			query->marks |= FOLDED_MARK_KERNEL;
		else if (strcmp(word, "jit") == 0)
			query->marks |= FOLDED_MARK_JIT;
		else if (strcmp(word, "host") == 0)
			query->mark_host = true;
		else
			return usage_error("--mark is a list of host, kernel and jit, not '%s'",
					   list);
	return EXIT_DONE;
}

/* Checks options that belong to one format. */
static int check_options(const struct invocation *invocation, const struct query *query)
{
	const char *output = option_value(invocation, "output");
	struct globs names;

	if (option_given(invocation, "json") && option_given(invocation, "format") &&
	    query->format != FORMAT_JSON)
		return usage_error("--json is --format json; give one");
	if (option_given(invocation, "weight") && query->format != FORMAT_FOLDED)
		return usage_error("--weight goes with --format folded");
	if (option_given(invocation, "mark") && query->format != FORMAT_FOLDED)
		return usage_error("--mark goes with --format folded");
	if (option_given(invocation, "thread-frame") && query->format != FORMAT_FLAMESCOPE)
		return usage_error("--thread-frame goes with --format flamescope");
	if (option_given(invocation, "no-header") && query->format != FORMAT_FLAMESCOPE)
		return usage_error("--no-header goes with --format flamescope");
	if (option_given(invocation, "name") && !option_given(invocation, "events"))
		return usage_error("--name goes with --events");
	if (globs_option_parse(invocation, "name", &names) != EXIT_DONE)
		return EXIT_USAGE;
	if (option_given(invocation, "events") && query->format == FORMAT_FOLDED &&
	    !option_given(invocation, "format"))
		return usage_error("--output '%.200s': --events writes lines or JSON", output);
	if (option_given(invocation, "events"))
		return query_events_check(invocation, query->format == FORMAT_JSON);
	if (query->split && query->format != FORMAT_FLAMESCOPE)
		return usage_error("--split goes with --format flamescope");
	if (query->split && (!output || strcmp(output, "-") == 0))
		return usage_error("--split writes several files; name their folder with -o");
	return EXIT_DONE;
}

static int query_parse_options(const struct invocation *invocation, struct query *ret)
{
	static const char *const weights[] = { "samples", "period", NULL };
	static const char *const parts[] = { "cpu", "comm", "pid", NULL };
	int r = query_args_parse(invocation, &ret->args);
	int weight = 0, part = 0;

	if (r == EXIT_DONE)
		r = parse_format(invocation, &ret->format);
	if (r == EXIT_DONE)
		r = parse_word(invocation, "weight", weights, &weight);
	if (r == EXIT_DONE)
		r = parse_word(invocation, "split", parts, &part);
	if (r == EXIT_DONE)
		r = parse_marks(invocation, ret);
	ret->weight = weight;
	ret->split = option_given(invocation, "split");
	ret->split_by = part;
	return r == EXIT_DONE ? check_options(invocation, ret) : r;
}

static struct flamescope_options flamescope_options(const struct invocation *invocation,
						    const struct query *query)
{
	return (struct flamescope_options){
		.filter = &query->args.filter,
		.version = PERFTAPE_VERSION,
		.threads = screen_threads(),
		.thread_frame = option_given(invocation, "thread-frame"),
		.no_header = option_given(invocation, "no-header"),
	};
}

/* Opens the output before the work, so that a wrong path fails at once. */
static int query_open_output(const struct invocation *invocation, struct output *output,
			     struct error *error)
{
	return guarded_output_open(output, option_value(invocation, "output"),
				   option_given(invocation, "force"), error);
}

/*
 * Makes the folder of --split before the work, for the same reason. Returns 1 if it made the
 * folder.
 */
static int query_make_folder(const struct invocation *invocation, struct error *error)
{
	const char *folder = option_value(invocation, "output");

	if (mkdir(folder, 0700) == 0)
		return 1;
	if (errno == EEXIST)
		return 0;
	return error_set(error, -errno, "cannot make the folder %s: %s", folder, strerror(errno));
}

static int write_part(const struct invocation *invocation, const struct part *part,
		      const struct flamescope_options *flamescope, const char *folder,
		      struct error *error)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_(output_done) struct output output = { 0 };
	int r;

	if (asprintf(&path, "%s/%s", folder, part->name) < 0)
		return -ENOMEM;
	r = guarded_output_open(&output, path, option_given(invocation, "force"), error);
	if (r < 0)
		return r;
	r = flamescope_write(&part->selection, flamescope, &output);
	return r < 0 ? r : output_commit(&output, error);
}

/*
 * Warns about files of an earlier answer, because a user would think that they are a part of this
 * answer. Prints the warning with -q, too.
 */
static void say_others(const struct parts *parts, const char *folder)
{
	char name[256];
	int count = parts_count_others(parts, folder, name);

	if (count > 0)
		warn("%d file%s in %s %s from an earlier answer, such as %s", count, plural(count),
		     folder, count == 1 ? "is" : "are", name);
}

static int write_parts(const struct invocation *invocation, const struct query *query,
		       const struct selection *selection, struct error *error)
{
	_cleanup_(parts_done) struct parts parts = { 0 };
	struct flamescope_options flamescope = flamescope_options(invocation, query);
	const char *folder = option_value(invocation, "output");
	int r = parts_make(selection, query->split_by, &parts);

	flamescope.of_samples = selection->rows.count;
	for (size_t i = 0; r == 0 && i < parts.list.count; i++) {
		flamescope.part = parts.list.items[i].title;
		r = write_part(invocation, &parts.list.items[i], &flamescope, folder, error);
	}
	if (r != 0)
		return r;
	say(invocation, "%zu file%s in %s", parts.list.count, plural(parts.list.count), folder);
	say_others(&parts, folder);
	return 0;
}

static int answer_split(const struct invocation *invocation, const struct query *query,
			const struct selection *selection)
{
	struct error error = { 0 };
	int r = write_parts(invocation, query, selection, &error);

	return r < 0 ? fail(r, &error) : coverage_line_code(invocation, &selection->coverage);
}

/*
 * Flamescope draws a column of cells for each second. With more columns, it does not scroll well.
 */
#define COLUMNS_MAX 600

/*
 * Warns of a file that Flamescope opens but cannot show. A file without a header is not for
 * Flamescope.
 */
static void say_too_long(const struct invocation *invocation, const struct selection *selection)
{
	uint64_t last_ns = selection->rows.items[selection->rows.count - 1].realtime_ns;
	uint64_t length_ns = last_ns - selection->window.from_ns;
	char shown[64];

	if (option_given(invocation, "no-header") || length_ns <= COLUMNS_MAX * NSEC_PER_SEC)
		return;
	say(invocation, "note: Flamescope cannot show %s in one file; ask for at most 10 min",
	    duration_format(length_ns, shown, sizeof(shown)));
}

static int answer_flamescope(const struct invocation *invocation, const struct query *query,
			     struct store_reader *reader)
{
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	struct flamescope_options flamescope = flamescope_options(invocation, query);
	const struct window *window = &query->args.question.window;
	struct question question = query->args.question;
	_cleanup_(output_done) struct output output = OUTPUT_NONE;
	struct error error = { 0 };
	int r = query->split ? query_make_folder(invocation, &error)
			     : query_open_output(invocation, &output, &error);
	const char *made = r > 0 ? option_value(invocation, "output") : NULL;

	question.threads = screen_threads();
	query_args_keep_memory();
	if (r >= 0)
		r = selection_make(reader, &question, &selection, &error);
	if (made && (r < 0 || !selection->rows.count))
		rmdir(made);
	if (r < 0)
		return fail(r, &error);
	if (!selection->rows.count)
		return coverage_line_nothing(invocation, reader, window, &selection->coverage);
	say_coverage(invocation, reader, window, selection->rows.count, &selection->coverage);
	say_too_long(invocation, selection);
	if (option_given(invocation, "verbose"))
		say(invocation, "segments opened: %zu", selection->opened);
	if (query->split)
		return answer_split(invocation, query, selection);
	r = flamescope_write(selection, &flamescope, &output);
	return coverage_line_commit(invocation, &output, r, &selection->coverage);
}

/* Makes a frame of the names of the hosts. Lists separate them by a comma and a blank. */
static void query_make_host_frame(const struct recorded_facts *facts,
				  char frame[sizeof(facts->host)])
{
	snprintf(frame, sizeof(facts->host), "%s", *facts->host ? facts->host : "[unknown]");
	for (; *frame; frame++)
		if (*frame == ' ' || *frame == ';')
			*frame = '_';
}

static int answer_folded(const struct invocation *invocation, const struct query *query,
			 struct store_reader *reader)
{
	_cleanup_(fold_done) struct fold fold = { 0 };
	const struct fold_options marked = { .weight = query->weight, .marks = query->marks };
	_cleanup_(output_done) struct output output = OUTPUT_NONE;
	struct error error = { 0 };
	char host[sizeof(fold.coverage.facts.host)];
	int r = query_open_output(invocation, &output, &error);

	if (r < 0)
		return fail(r, &error);
	r = query_args_fold(invocation, &query->args, reader, marked, &fold);
	if (r != EXIT_DONE)
		return r;
	query_make_host_frame(&fold.coverage.facts, host);
	fold.folded->host = query->mark_host ? host : NULL;
	r = folded_write(fold.folded, &output);
	return coverage_line_commit(invocation, &output, r, &fold.coverage);
}

/* Writes JSON. The coverage comes last, because it is known only after the last sample. */
static int answer_json(const struct invocation *invocation, const struct query *query,
		       struct store_reader *reader)
{
	_cleanup_(cleanup_cursor) struct cursor *cursor = NULL;
	const struct window *window = &query->args.question.window;
	_cleanup_(output_done) struct output output = OUTPUT_NONE;
	struct error error = { 0 };
	uint64_t samples = 0;
	int r = query_open_output(invocation, &output, &error), code;

	if (r < 0)
		return fail(r, &error);
	r = cursor_open(reader, &query->args.question, &cursor, &error);
	if (r < 0)
		return fail(r, &error);
	r = json_samples_write(cursor, window, &output, &samples, &error);
	if (r < 0)
		return fail(r, &error);
	/* the reader closed the pipe, so the coverage of the rest is unknown */
	if (output.failed == -EPIPE)
		return EXIT_DONE;
	code = coverage_line_commit(invocation, &output, r, cursor_coverage(cursor));
	if (code == EXIT_FAILED)
		return code;
	if (samples) {
		say_coverage(invocation, reader, window, samples, cursor_coverage(cursor));
		return code;
	}
	return coverage_line_nothing(invocation, reader, window, cursor_coverage(cursor));
}

static int query_answer(const struct invocation *invocation, const struct query *query)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	say_window(invocation, &query->args.question.window);
	if (option_given(invocation, "events"))
		return query_events(invocation, &query->args.question, reader,
				    query->format == FORMAT_JSON);
	if (query->format == FORMAT_JSON)
		return answer_json(invocation, query, reader);
	return query->format == FORMAT_FOLDED ? answer_folded(invocation, query, reader)
					      : answer_flamescope(invocation, query, reader);
}

/* Answers from the server of a fleet: its samples of the window stand for a store. */
static int query_answer_fleet(const struct invocation *invocation, const struct query *query)
{
	struct invocation asked = *invocation;
	char path[FLEET_WINDOW_PATH];
	int r = fleet_window_fetch(invocation, &query->args.question.window, path);

	if (r != EXIT_DONE)
		return r;
	asked.store = path;
	return query_answer(&asked, query);
}

static int query_run(const struct invocation *invocation)
{
	struct query query = { 0 };
	int r = fleet_window_check(invocation);

	if (r != EXIT_DONE)
		return r;
	r = query_parse_options(invocation, &query);
	if (r == EXIT_DONE)
		r = option_given(invocation, "fleet") ? query_answer_fleet(invocation, &query)
						      : query_answer(invocation, &query);
	query_args_done(&query.args);
	return r;
}

const struct command command_query = {
	.name = "query",
	.summary = "Write the samples of a window, for Flamescope by default",
	.about = about,
	.options = options,
	.run = query_run,
};
