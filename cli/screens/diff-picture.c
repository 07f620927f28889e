// SPDX-License-Identifier: GPL-2.0-only
/* Draws the stacks of both sides as one flame graph, with idle stacks left out. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/number.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/guarded-output.h"
#include "cli/answer/screen.h"
#include "cli/screens/diff-answer.h"
#include "draw/flamegraph.h"
#include "query/diff/flame-pair.h"
#include "query/sums/fold.h"

/* About 5 MB, which a browser still handles well. */
#define FRAMES_MAX 20000
/* A tenth of a pixel of 1000. */
#define MIN_SHARE 0.0001

struct diff_folds {
	/* With --baseline, the time before the window and the time after it. */
	struct fold before, beside, after;
};

static void diff_folds_done(struct diff_folds *folds)
{
	fold_done(&folds->before);
	fold_done(&folds->beside);
	fold_done(&folds->after);
}

static int diff_fold(struct diff_side *side, const struct window *window, struct fold *ret_fold,
		     struct error *error)
{
	struct fold_options options = {
		.question = side->args.question,
		.kinds = true,
		.threads = screen_threads(),
	};

	options.question.window = *window;
	return fold_run(side->reader, &options, ret_fold, error);
}

/* Folds the time before and after the window, as the earlier side. */
static int diff_fold_around(struct diff *diff, struct diff_folds *folds, struct error *error)
{
	const struct window *window = &diff->after.args.question.window;
	const struct window before = { .from_ns = window->from_ns -
						  MIN(diff->around_ns, window->from_ns),
				       .to_ns = window->from_ns };
	const struct window behind = { .from_ns = window->to_ns,
				       .to_ns = window->to_ns + diff->around_ns };
	int r = diff_fold(&diff->after, &before, &folds->before, error);

	if (r < 0)
		return r;
	r = diff_fold(&diff->after, &behind, &folds->beside, error);
	if (r < 0)
		return r;
	r = folded_merge(folds->before.folded, folds->beside.folded);
	if (r < 0)
		return r;
	folds->before.samples += folds->beside.samples;
	folds->before.coverage.covered_ns += folds->beside.coverage.covered_ns;
	return 0;
}

static int diff_fold_all(struct diff *diff, struct diff_folds *folds, struct error *error)
{
	struct diff_side *before = &diff->before, *after = &diff->after;
	int r;

	query_args_keep_memory();
	/* idle time would be the widest change of a host that became busy */
	before->args.filter.no_idle = after->args.filter.no_idle = true;
	r = diff->around_ns
		    ? diff_fold_around(diff, folds, error)
		    : diff_fold(before, &before->args.question.window, &folds->before, error);
	return r < 0 ? r : diff_fold(after, &after->args.question.window, &folds->after, error);
}

/* Returns the CPU time of a sample in seconds; 0: the frequency is not known. */
static double diff_sample_s(const struct fold *fold)
{
	double frequency = strtod(fold->coverage.facts.frequency, NULL);

	return frequency > 0 ? 1 / frequency : 0;
}

static struct flame_side diff_flame_side(const struct fold *fold, bool parts)
{
	double seconds = (double)MAX(fold->coverage.covered_ns, 1ull) / NSEC_PER_SEC;
	double sample_s = diff_sample_s(fold);
	struct flame_side side = { .folded = fold->folded };

	side.width = parts ? (double)FLAME_PAIR_UNIT / MAX(fold->samples, 1ull)
			   : FLAME_PAIR_UNIT * (sample_s > 0 ? sample_s : 1) / seconds;
	return side;
}

static void diff_put_title(const struct diff *diff, const struct diff_folds *folds,
			   struct buffer *text)
{
	const char *host = folds->after.coverage.facts.host;

	buffer_printf(text, "%s%sCPU stacks compared: %s", host, *host ? ": " : "",
		      diff->around_ns ? "usual and this window" : "before and after");
	buffer_u8(text, 0);
}

static void diff_put_picture_head(const struct diff *diff, const struct diff_folds *folds,
				  struct buffer *text)
{
	const struct diff_side *before = &diff->before, *after = &diff->after;
	char around[32];

	if (diff->around_ns)
		buffer_printf(text,
			      "before: usual, %s before and after the window; %" PRIu64
			      " samples\n",
			      duration_format(diff->around_ns, around, sizeof(around)),
			      folds->before.samples);
	else {
		buffer_text(text, "before: ");
		screen_put_head(&before->invocation, &before->args.question.window,
				folds->before.samples, &folds->before.coverage, text);
		screen_put_filter(&before->args.filter, text);
	}
	buffer_text(text, "after: ");
	screen_put_head(&after->invocation, &after->args.question.window, folds->after.samples,
			&folds->after.coverage, text);
	screen_put_filter(&after->args.filter, text);
	buffer_u8(text, 0);
}

static int diff_write(const struct diff *diff, const struct diff_folds *folds,
		      struct output *output)
{
	_cleanup_(buffer_done) struct buffer title = { 0 }, head = { 0 };
	_cleanup_(flame_pair_done) struct flame_pair pair = { 0 };
	_cleanup_(flame_done) struct flame flame = { 0 };
	const struct flame_side before = diff_flame_side(&folds->before, diff->parts),
				after = diff_flame_side(&folds->after, diff->parts);
	bool known = diff_sample_s(&folds->before) > 0 && diff_sample_s(&folds->after) > 0;
	struct flame_options tree = { .min_share = MIN_SHARE, .frames_max = FRAMES_MAX };
	struct flamegraph graph = { .flame = &flame,
				    .compared = diff->parts ? FLAMEGRAPH_PARTS
						: known	    ? FLAMEGRAPH_CPUS
							    : FLAMEGRAPH_RATES };
	int r = flame_pair_make(&before, &after, &pair);

	diff_put_title(diff, folds, &title);
	diff_put_picture_head(diff, folds, &head);
	tree.earlier = pair.earlier.items;
	if (r < 0)
		return r;
	r = buffer_failed(&title) || buffer_failed(&head) ? -ENOMEM
							  : flame_make(pair.folded, &tree, &flame);
	if (r < 0)
		return r;
	graph.title = (const char *)title.data;
	graph.head = (const char *)head.data;
	return flamegraph_write(&graph, output);
}

/* Returns the exit code of a side without samples, after a message. */
static int diff_check_fold(const struct diff_side *side, const struct window *window,
			   const struct fold *fold)
{
	if (fold->samples)
		return EXIT_DONE;
	return coverage_line_nothing(&side->invocation, side->reader, window, &fold->coverage);
}

static int diff_check_folds(const struct diff *diff, const struct diff_folds *folds)
{
	const struct diff_side *before = diff->around_ns ? &diff->after : &diff->before;
	int r = diff_check_fold(&diff->after, &diff->after.args.question.window, &folds->after);

	return r == EXIT_DONE
		       ? diff_check_fold(before, &before->args.question.window, &folds->before)
		       : r;
}

static int diff_commit(const struct diff *diff, const struct diff_folds *folds,
		       struct output *output, int r)
{
	int code = diff->around_ns
			   ? EXIT_DONE
			   : coverage_line_code(&diff->before.invocation, &folds->before.coverage);
	int later =
		coverage_line_commit(&diff->after.invocation, output, r, &folds->after.coverage);

	return later == EXIT_DONE ? code : later;
}

int diff_picture(struct diff *diff)
{
	_cleanup_(diff_folds_done) struct diff_folds folds = { 0 };
	_cleanup_(output_done) struct output output = OUTPUT_NONE;
	const struct invocation *invocation = &diff->whole;
	struct error error = { 0 };
	/* open the output before the work, so that a wrong path fails at once */
	int r = guarded_output_open(&output, option_value(invocation, "output"),
				    option_given(invocation, "force"), &error);

	if (r == 0)
		r = diff_fold_all(diff, &folds, &error);
	if (r < 0)
		return fail(r, &error);
	r = diff_check_folds(diff, &folds);
	if (r != EXIT_DONE)
		return r;
	if (!diff->around_ns)
		say_coverage(&diff->before.invocation, diff->before.reader,
			     &diff->before.args.question.window, folds.before.samples,
			     &folds.before.coverage);
	say_coverage(&diff->after.invocation, diff->after.reader, &diff->after.args.question.window,
		     folds.after.samples, &folds.after.coverage);
	return diff_commit(diff, &folds, &output, diff_write(diff, &folds, &output));
}
