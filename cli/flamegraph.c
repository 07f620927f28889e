// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/live-names.h"
#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/window-options.h"
#include "draw/flamegraph.h"
#include "query/fold.h"

/* Some 5 MB, which a browser still moves at once. */
#define FRAMES_MAX 20000
/* A tenth of a pixel, of a thousand. */
#define MIN_SHARE 0.0001

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	{ "title", 0, "TEXT", "what stands above it (default: CPU stacks)" },
	{ "min-share", 0, "PERCENT", "leave out narrower frames (default: 0.01)" },
	{ "output", 'o', "FILE",
		"write there; gzipped when it ends in .svgz or .gz (default: standard output)" },
	{ 0 },
};

static const char about[] =
	"One SVG file, for any browser, without a network: / searches, a click zooms, Escape\n"
	"goes back, the arrow keys walk. Colours tell the kernel, programs, Go and JIT "
	"apart.\n\n" WINDOW_ABOUT;

struct asked {
	struct question question;
	struct filter filter;
	struct live_names names;
	double min_share;
};

static int parse_share(const char *text, double *ret_share)
{
	char *end;
	double percent = strtod(text, &end);

	if (*end == '%')
		end++;
	if (end == text || *end || !(percent >= 0 && percent <= 100))
		return usage_error("--min-share: \"%.60s\" is no share: use 0.1, for 0.1 %%", text);
	*ret_share = percent / 100;
	return EXIT_DONE;
}

static int parse_options(const struct invocation *invocation, struct asked *asked)
{
	const char *share = option_value(invocation, "min-share");
	int r = window_option_parse(invocation, &asked->question.window);

	if (r == EXIT_DONE)
		r = filter_options_parse(invocation, &asked->filter);
	if (r == EXIT_DONE && share)
		r = parse_share(share, &asked->min_share);
	asked->question.filter = &asked->filter;
	asked->question.name = live_names_give;
	asked->question.context = &asked->names;
	return r;
}

static int write_graph(
	const struct invocation *invocation, const struct asked *asked, const struct fold *fold)
{
	const char *title = option_value(invocation, "title");
	_cleanup_(buffer_done) struct buffer head = { 0 };
	_cleanup_(flame_done) struct flame flame = { 0 };
	struct output output;
	struct error error = { 0 };
	int r;

	screen_put_head(invocation, &asked->question.window, fold->samples, &fold->coverage, &head);
	screen_put_filter(&asked->filter, &head);
	buffer_u8(&head, 0);
	r = buffer_failed(&head) ? -ENOMEM
				 : flame_make(fold->folded, asked->min_share, FRAMES_MAX, &flame);
	if (r == 0)
		r = output_open(&output, option_value(invocation, "output"), &error);
	if (r < 0)
		return fail(r, &error);
	r = flamegraph_write(&(struct flamegraph){ &flame, title ? title : "CPU stacks",
				     (const char *)head.data },
		&output);
	return answer_commit(invocation, &output, r, &fold->coverage);
}

static int answer(const struct invocation *invocation, const struct asked *asked)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(fold_done) struct fold fold = { 0 };
	const struct window *window = &asked->question.window;
	struct progress progress;
	const struct fold_options fold_options = {
		.question = asked->question,
		.kinds = true,
		.threads = screen_threads(),
		.progress = progress_show,
		.progress_context = &progress,
	};
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	say_window(invocation, window);
	progress_start(&progress, "segments", option_given(invocation, "quiet"));
	r = fold_run(reader, &fold_options, &fold, &error);
	progress_end(&progress);
	if (r < 0)
		return fail(r, &error);
	if (!fold.samples)
		return answer_nothing(invocation, reader, window, &fold.coverage);
	say_coverage(invocation, reader, window, fold.samples, &fold.coverage);
	return write_graph(invocation, asked, &fold);
}

static int run(const struct invocation *invocation)
{
	struct asked asked = { .min_share = MIN_SHARE };
	int r = parse_options(invocation, &asked);

	if (r == EXIT_DONE)
		r = answer(invocation, &asked);
	live_names_done(&asked.names);
	filter_done(&asked.filter);
	return r;
}

const struct command command_flamegraph = {
	.name = "flamegraph",
	.summary = "Draw the stacks of a window as a flame graph in one SVG file",
	.about = about,
	.options = options,
	.run = run,
};
