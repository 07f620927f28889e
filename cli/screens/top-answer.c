// SPDX-License-Identifier: GPL-2.0-only
#include "cli/screens/top-answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/answer/dying-text.h"
#include "cli/answer/full-cpus.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/screen.h"
#include "draw/top.h"

/*
 * The baseline reads the store around the window until the whole answer has taken ANSWER_NS. It may
 * always take BASELINE_LEAST_NS.
 */
#define ANSWER_NS (800 * NSEC_PER_MSEC)
#define BASELINE_LEAST_NS (200 * NSEC_PER_MSEC)

const char *const top_by_names[] = {
	[TALLY_BY_NAME] = "name",     [TALLY_BY_FUNCTION] = "function",
	[TALLY_BY_THREAD] = "thread", [TALLY_BY_CGROUP] = "cgroup",
	[TALLY_BY_POD] = "pod",	      [TALLY_BY_PATH] = "path",
	[TALLY_BY_PATH + 1] = NULL,
};

void top_reset(struct top *top)
{
	window_sums_done(&top->sums);
	ranking_done(&top->ranking);
	spikes_done(&top->full);
	dying_state_done(&top->dying);
	top->sums = (struct window_sums){ 0 };
	top->ranking = (struct ranking){ 0 };
	top->full = (struct spikes){ 0 };
	top->dying = (struct dying_state){ 0 };
}

void top_done(struct top *top)
{
	top_reset(top);
	baseline_done(&top->baseline);
	query_args_done(&top->args);
}

int top_read_window(struct top *top, struct store_reader *reader, bool quiet, struct error *error)
{
	struct progress_line progress;
	const struct window_sums_options options = {
		.question = top->args.question,
		.parts = TALLY_ALL,
		.by = top->by,
		.threads = top->threads,
		.progress = progress_line_show,
		.progress_context = &progress,
	};
	int r;

	progress_line_start(&progress, "segments", quiet);
	r = window_sums_read(reader, &options, &top->sums, error);
	progress_line_end(&progress);
	return r;
}

static int make_baseline(struct top *top, struct store_reader *reader, struct error *error)
{
	uint64_t spent_ns = clock_ns(CLOCK_MONOTONIC) - top->started_ns;
	const struct baseline_options options_of = {
		.question = top->args.question,
		.by = top->by,
		.around_ns = top->around_ns,
		.limit_ns = MAX(ANSWER_NS - MIN(spent_ns, ANSWER_NS), BASELINE_LEAST_NS),
		.threads = top->threads,
	};

	return top->baseline.tally ? 0 : baseline_make(reader, &options_of, &top->baseline, error);
}

int top_compare(struct top *top, struct store_reader *reader, struct error *error)
{
	const struct window *window = &top->args.question.window;
	int r = make_baseline(top, reader, error);

	if (r != 0)
		return r;
	r = ranking_make(top->sums.tally, top->sums.coverage.covered_ns, &top->baseline,
			 &top->ranking);
	if (r != 0)
		return r;
	r = full_cpus_find(reader, &top->args.question, &top->full, error);
	if (r != 0)
		return r;
	return dying_state_read(reader, window->from_ns, window->to_ns, &top->dying, error);
}

static void put_machine(const struct top *top, struct buffer *text)
{
	const struct ranking_share *now = &top->ranking.now;

	buffer_printf(text, "%.2f", now->all);
	if (top->sums.tally->host_cpus)
		buffer_printf(text, " of %" PRIu64, top->sums.tally->host_cpus);
	buffer_printf(text, " CPU%s busy", plural(top->sums.tally->host_cpus));
	if (top->ranking.compared)
		buffer_printf(text, ", usually %.2f", top->ranking.usual.all);
	buffer_printf(text, ": user %.2f, kernel %.2f, irq %.2f", now->user, now->kernel, now->irq);
	buffer_u8(text, '\n');
}

static bool top_is_filtered(const struct top *top)
{
	return filter_has_threads(&top->args.filter) || top->args.filter.cpus.wanted.count;
}

/* Puts the reason why the usual values are unknown. */
static void put_unknown(const struct top *top, bool is_file, struct buffer *text)
{
	char around[32];

	buffer_text(text, "usual: unknown, ");
	if (top->baseline.unfiltered)
		buffer_text(
			text,
			"a snapshot has usual values only of all samples, by name and function");
	else if (is_file && !top_is_filtered(top))
		buffer_text(text, "nothing else is in this file");
	else
		buffer_printf(text, "%s within %s of the window",
			      top_is_filtered(top) ? "no such sample is recorded"
						   : "nothing else is recorded",
			      duration_format(top->around_ns, around, sizeof(around)));
}

static void top_put_baseline(const struct invocation *invocation, const struct top *top,
			     bool is_file, struct buffer *text)
{
	const struct baseline *baseline = &top->baseline;
	uint64_t day_ns = top->args.question.window.from_ns;
	bool utc = option_given(invocation, "utc");
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	if (!top->ranking.compared) {
		put_unknown(top, is_file, text);
	} else {
		buffer_printf(text, "usual: %s to %s (%" PRIu64 " sample%s",
			      screen_time_of_day(baseline->from_ns, day_ns, utc, from),
			      screen_time_of_day(baseline->to_ns, day_ns, utc, to),
			      baseline->tally->samples, plural(baseline->tally->samples));
		if (baseline->segments < baseline->of && !baseline->rest)
			buffer_printf(text, " of %" PRIu64 " of %" PRIu64 " segments",
				      baseline->segments, baseline->of);
		buffer_text(text, baseline->rest ? " of the same segments)" : ")");
	}
	if (baseline->unread)
		buffer_printf(text, "; %" PRIu64 " could not be read", baseline->unread);
}

/* Puts a line about dying cgroups. Many of them slow down the whole host, whoever is busy. */
static void top_put_dying(const struct top *top, struct buffer *text)
{
	if (top->dying.count < DYING_STATE_MANY)
		return;
	buffer_u8(text, '\n');
	dying_text_kind(&top->dying.kinds.items[0], &top->terminal, text);
}

/*
 * Puts the head. A live screen omits the parts of the coverage that do not change from second to
 * second, because it has few lines.
 */
static void top_put_head(const struct invocation *invocation, const struct top *top, bool is_file,
			 struct buffer *head)
{
	struct coverage coverage = top->sums.coverage;

	if (top->live) {
		coverage.frames = coverage.clock_error_ns = 0;
		coverage.stacks_read = false;
	}
	screen_put_head(invocation, &top->args.question.window, top->sums.samples, &coverage, head);
	screen_put_filter(&top->args.filter, head);
	put_machine(top, head);
	top_put_baseline(invocation, top, is_file, head);
	top_put_dying(top, head);
}

int top_put_screen(const struct invocation *invocation, const struct top *top, bool is_file,
		   unsigned int lines_below, struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer first = { 0 }, head = { 0 };

	full_cpus_put(&top->full, &top->ranking, &top->terminal, option_given(invocation, "utc"),
		      &first);
	buffer_u8(&first, 0);
	top_put_head(invocation, top, is_file, &head);
	buffer_u8(&head, 0);
	if (buffer_failed(&first) || buffer_failed(&head))
		return -ENOMEM;
	top_draw(&(struct top_screen){ (const char *)first.data, (const char *)head.data,
				       &top->ranking, lines_below, top->rows, top->live },
		 &top->terminal, text);
	return buffer_failed(text) ? -ENOMEM : 0;
}

void top_put_json(struct top *top, struct buffer *text)
{
	for (size_t i = 0; i < top->full.list.count; i++) {
		buffer_text(text, "{\"full\":");
		spikes_put_spike(&top->full, &top->full.list.items[i], text);
		buffer_text(text, "}\n");
	}
	if (top->rows)
		ranking_limit(&top->ranking, top->rows);
	ranking_put_json(&top->ranking, &top->baseline, text);
	coverage_put_json(&top->sums.coverage, &top->args.question.window, text);
}
