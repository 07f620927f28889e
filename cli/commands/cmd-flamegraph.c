// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/answer/coverage-line.h"
#include "cli/answer/query-args.h"
#include "cli/options/command.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"
#include "draw/flamegraph.h"

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
	"goes back, the arrow keys walk. Colours tell the kernel, programs, Go and JIT apart.\n\n" WINDOW_ABOUT;

static int flamegraph_parse_share(const char *text, double *ret_share)
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

/* As the picture says it: who only wants to see whether a function is there has to know. */
static void flamegraph_say_left_out(const struct invocation *invocation, const struct flame *flame)
{
	char frames[96];

	if (!flame->left_out)
		return;
	snprintf(frames, sizeof(frames), "%" PRIu64 " frame%s of less than %.3g %% %s left out",
		 flame->left_out, flame->left_out == 1 ? "" : "s", 100 * flame->least,
		 flame->left_out == 1 ? "is" : "are");
	if (flame->over_max)
		say(invocation,
		    "%s, as the picture has room for %d: a shorter window, --cpu or --comm show more",
		    frames, FRAMES_MAX);
	else
		say(invocation, "%s: --min-share 0 shows all", frames);
}

static int write_graph(const struct invocation *invocation, const struct query_args *asked,
		       double min_share, const struct fold *fold)
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
				 : flame_make(fold->folded, min_share, FRAMES_MAX, &flame);
	if (r == 0)
		r = output_open(&output, option_value(invocation, "output"), &error);
	if (r < 0)
		return fail(r, &error);
	flamegraph_say_left_out(invocation, &flame);
	r = flamegraph_write(&(struct flamegraph){ &flame, title ? title : "CPU stacks",
						   (const char *)head.data },
			     &output);
	return coverage_line_commit(invocation, &output, r, &fold->coverage);
}

static int flamegraph_answer(const struct invocation *invocation, const struct query_args *asked,
			     double min_share)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(fold_done) struct fold fold = { 0 };
	const struct fold_options by_kind = { .kinds = true };
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	say_window(invocation, &asked->question.window);
	r = query_args_fold(invocation, asked, reader, by_kind, &fold);
	return r == EXIT_DONE ? write_graph(invocation, asked, min_share, &fold) : r;
}

static int flamegraph_run(const struct invocation *invocation)
{
	const char *share = option_value(invocation, "min-share");
	struct query_args asked = { 0 };
	double min_share = MIN_SHARE;
	int r = query_args_parse(invocation, &asked);

	if (r == EXIT_DONE && share)
		r = flamegraph_parse_share(share, &min_share);
	if (r == EXIT_DONE)
		r = flamegraph_answer(invocation, &asked, min_share);
	query_args_done(&asked);
	return r;
}

const struct command command_flamegraph = {
	.name = "flamegraph",
	.summary = "Draw the stacks of a window as a flame graph in one SVG file",
	.about = about,
	.options = options,
	.run = flamegraph_run,
};
