// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/top-answer.h"

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
#include "query/sums/tally-tape.h"

/*
 * The baseline reads the store around the window until the whole answer has taken this long. It may
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
	for (unsigned int i = 0; top->tallies && i < top->threads; i++)
		tally_free(top->tallies[i]);
	free(take_ptr(top->tallies));
	scanned_done(&top->scanned);
	ranking_done(&top->ranking);
	spikes_done(&top->full);
	dying_state_done(&top->dying);
	top->scanned = (struct scanned){ 0 };
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

static int top_add(void *context, unsigned int worker, const struct store_segment *segment,
		   const struct tape *tape, const struct window_filter_times *times)
{
	struct top *top = context;

	return tally_add_samples(top->tallies[worker], tape, times->kinds,
				 stack_class_sample_ns(tape, segment->samples),
				 TALLY_CPUS | TALLY_NAMES | TALLY_DETAILS);
}

int top_read_window(struct top *top, struct store_reader *reader, bool quiet, struct error *error)
{
	struct progress_line progress;
	const struct scan_options scan = {
		.question = top->args.question,
		.threads = top->threads,
		.add = top_add,
		.context = top,
		.progress = progress_line_show,
		.progress_context = &progress,
	};
	int r = 0;

	top->tallies = calloc(top->threads, sizeof(*top->tallies));
	if (!top->tallies)
		return -ENOMEM;
	for (unsigned int i = 0; r == 0 && i < top->threads; i++)
		r = tally_new(&top->tallies[i]);
	for (unsigned int i = 0; r == 0 && i < top->threads; i++)
		top->tallies[i]->by = top->by;
	if (r < 0)
		return r;
	progress_line_start(&progress, "segments", quiet);
	r = scan_run(reader, &scan, &top->scanned, error);
	progress_line_end(&progress);
	for (unsigned int i = 1; r == 0 && i < top->threads; i++)
		r = tally_merge(top->tallies[0], top->tallies[i]);
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

	if (r == 0)
		r = ranking_make(top->tallies[0], top->scanned.coverage.covered_ns, &top->baseline,
				 &top->ranking);
	if (r == 0)
		r = full_cpus_find(reader, &top->args.question, &top->full, error);
	if (r == 0)
		r = dying_state_read(reader, window->from_ns, window->to_ns, &top->dying, error);
	return r;
}

static void put_machine(const struct top *top, struct buffer *text)
{
	const struct ranking_share *now = &top->ranking.now;

	buffer_printf(text, "%.2f", now->all);
	if (top->tallies[0]->host_cpus)
		buffer_printf(text, " of %" PRIu64, top->tallies[0]->host_cpus);
	buffer_printf(text, " CPU%s busy", plural(top->tallies[0]->host_cpus));
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
		buffer_text(text, "this file has only a baseline of all samples by name");
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

/* Many dying cgroups slow down the whole host, whoever is busy. */
static void top_put_dying(const struct top *top, struct buffer *text)
{
	if (top->dying.count < DYING_STATE_MANY)
		return;
	buffer_u8(text, '\n');
	dying_text_kind(&top->dying.kinds.items[0], &top->terminal, text);
}

int top_put_screen(const struct invocation *invocation, const struct top *top, bool is_file,
		   unsigned int lines_below, struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer first = { 0 }, head = { 0 };

	full_cpus_put(&top->full, &top->ranking, &top->terminal, option_given(invocation, "utc"),
		      &first);
	buffer_u8(&first, 0);
	screen_put_head(invocation, &top->args.question.window, top->scanned.samples,
			&top->scanned.coverage, &head);
	screen_put_filter(&top->args.filter, &head);
	put_machine(top, &head);
	top_put_baseline(invocation, top, is_file, &head);
	top_put_dying(top, &head);
	buffer_u8(&head, 0);
	if (buffer_failed(&first) || buffer_failed(&head))
		return -ENOMEM;
	top_draw(&(struct top_screen){ (const char *)first.data, (const char *)head.data,
				       &top->ranking, lines_below, top->rows },
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
	coverage_put_json(&top->scanned.coverage, &top->args.question.window, text);
}
