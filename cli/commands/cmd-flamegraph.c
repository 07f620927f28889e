// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/file-format.h"
#include "cli/answer/guarded-output.h"
#include "cli/answer/picture-head.h"
#include "cli/answer/query-args.h"
#include "cli/options/command.h"
#include "cli/window/window-options.h"
#include "draw/flamegraph.h"

/* About 5 MB, which a browser still handles well. */
#define FRAMES_MAX 20000
/* A tenth of a pixel of 1000. */
#define MIN_SHARE 0.0001

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	{ "title", 0, "TEXT", "title (default: host, event and time)" },
	{ "reverse", 0, NULL, "begin with the leaves: who calls a function" },
	{ "min-share", 0, "PERCENT", "leave out narrower frames (default: 0.01)" },
	{ "output", 'o', "FILE",
	  "file to write, gzipped for .svgz and .gz (default: standard output)" },
	OUTPUT_FORCE_OPTION,
	{ 0 },
};

static const char about[] =
	"Writes one SVG file that any browser shows without a network: / searches, n and\n"
	"N walk from hit to hit, a click zooms, Escape goes back, ? shows all keys. The\n"
	"address keeps zoom and search. Colours distinguish the kernel, programs, Go and\n"
	"JIT code.\n"
	"\n" WINDOW_ABOUT;

static int flamegraph_parse_share(const char *text, double *ret_share)
{
	char *end;
	double percent = strtod(text, &end);

	if (*end == '%')
		end++;
	if (end == text || *end || !(percent >= 0 && percent <= 100))
		return usage_error("--min-share: \"%.60s\" is not a share; use 0.1 for 0.1 %%",
				   text);
	*ret_share = percent / 100;
	return EXIT_DONE;
}

/* Refuses a name that promises another format, because its reader would fail on the file. */
static int check_name(const char *path)
{
	enum file_format format = file_format_of(path);

	if (format == FILE_FORMAT_ANY || format == FILE_FORMAT_SVG)
		return EXIT_DONE;
	return usage_error("--output '%.200s': flamegraph writes SVG; use a name such as flame.svg",
			   path);
}

/*
 * Prints how many frames the picture leaves out. The picture contains the same text, but somebody
 * who only searches for a function does not read it.
 */
static void flamegraph_say_left_out(const struct invocation *invocation, const struct flame *flame)
{
	char frames[96];

	if (!flame->left_out)
		return;
	snprintf(frames, sizeof(frames), "%" PRIu64 " frame%s of less than %.3g %% %s left out",
		 flame->left_out, plural(flame->left_out), 100 * flame->least,
		 flame->left_out == 1 ? "is" : "are");
	if (flame->over_max)
		say(invocation,
		    "%s: the picture has room for %d; use --cpu, --comm or a shorter window",
		    frames, FRAMES_MAX);
	else
		say(invocation, "%s: --min-share 0 shows all", frames);
}

static bool flamegraph_is_idle(const struct folded *folded, uint32_t line)
{
	static const char idle[] = "swapper";
	uint32_t count;
	const uint32_t *words = folded_words(folded, line, &count);

	return count && strncmp(strings_at(&folded->names, words[0]), idle, strlen(idle)) == 0;
}

/* Prints the share of idle CPUs if it takes most of the picture. */
static void flamegraph_say_idle(const struct invocation *invocation, const struct folded *folded)
{
	uint64_t all = 0, idle = 0;
	char share[SHARE_TEXT_SIZE];

	for (uint32_t i = 1; i < folded->lines.count; i++) {
		all += folded->weights.items[i];
		if (flamegraph_is_idle(folded, i))
			idle += folded->weights.items[i];
	}
	if (idle <= all / 2 || option_given(invocation, "no-idle"))
		return;
	say(invocation, "note: %s of the samples are of idle CPUs; --no-idle leaves them out",
	    share_format((double)idle / (double)all, share));
}

static int write_graph(const struct invocation *invocation, const struct picture_head *head,
		       const struct flame_options *tree, const struct fold *fold,
		       struct output *output)
{
	_cleanup_(flame_done) struct flame flame = { 0 };
	const struct flamegraph graph = {
		.flame = &flame,
		.title = (const char *)head->title.data,
		.head = (const char *)head->lines.data,
		.reverse = tree->reverse,
	};
	int r = flame_make(fold->folded, tree, &flame);

	if (r < 0)
		return fail(r, NULL);
	flamegraph_say_idle(invocation, fold->folded);
	flamegraph_say_left_out(invocation, &flame);
	r = flamegraph_write(&graph, output);
	return coverage_line_commit(invocation, output, r, &fold->coverage);
}

static int flamegraph_answer(const struct invocation *invocation, const struct query_args *args,
			     const struct flame_options *tree)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(fold_done) struct fold fold = { 0 };
	_cleanup_(picture_head_done) struct picture_head head = { 0 };
	const struct fold_options by_kind = { .kinds = true };
	_cleanup_(output_done) struct output output = OUTPUT_NONE;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	/* open the output before the work, so that a wrong path fails at once */
	r = guarded_output_open(&output, option_value(invocation, "output"),
				option_given(invocation, "force"), &error);
	if (r < 0)
		return fail(r, &error);
	say_window(invocation, &args->question.window);
	r = query_args_fold(invocation, args, reader, by_kind, &fold);
	if (r != EXIT_DONE)
		return r;
	r = picture_head_put(invocation, reader, &args->question, &fold, &head, &error);
	return r < 0 ? fail(r, &error) : write_graph(invocation, &head, tree, &fold, &output);
}

static int flamegraph_run(const struct invocation *invocation)
{
	const char *share = option_value(invocation, "min-share");
	struct query_args args = { 0 };
	struct flame_options tree = {
		.min_share = MIN_SHARE,
		.frames_max = FRAMES_MAX,
		.reverse = option_given(invocation, "reverse"),
	};
	int r = query_args_parse(invocation, &args);

	if (r == EXIT_DONE)
		r = check_name(option_value(invocation, "output"));
	if (r == EXIT_DONE && share)
		r = flamegraph_parse_share(share, &tree.min_share);
	if (r == EXIT_DONE)
		r = flamegraph_answer(invocation, &args, &tree);
	query_args_done(&args);
	return r;
}

const struct command command_flamegraph = {
	.name = "flamegraph",
	.summary = "Draw the stacks of a window as a flame graph in one SVG file",
	.about = about,
	.options = options,
	.run = flamegraph_run,
};
