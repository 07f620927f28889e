// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/dying-text.h"
#include "cli/answer/full-cpus.h"
#include "cli/answer/query-args.h"
#include "cli/options/command.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"
#include "draw/top.h"
#include "query/sums/baseline.h"
#include "query/sums/ranking.h"
#include "query/sums/spikes.h"
#include "query/read/scan.h"
#include "query/sums/tally-tape.h"

/*
 * The baseline reads the store around the window until the whole answer has taken this long. It may
 * always take BASELINE_LEAST_NS.
 */
#define ANSWER_NS (800 * NSEC_PER_MSEC)
#define BASELINE_LEAST_NS (200 * NSEC_PER_MSEC)

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	{ "baseline", 0, "LENGTH",
	  "compare with this much before and after the window (default: 12h)" },
	JSON_OPTION,
	{ 0 },
};

static const char about[] =
	"Shows which CPUs were full, when and with what. Then come the busiest CPUs, threads and\n"
	"functions in per cent of one CPU, beside their usual values in the rest of the store.\n"
	"Unusual rows are marked and come first. Idle time does not count; the functions in a\n"
	"stack tell whether it is an interrupt.\n"
	"\n" WINDOW_ABOUT;

struct top {
	struct query_args args;
	/* CLOCK_MONOTONIC. */
	uint64_t started_ns;
	uint64_t around_ns;
	struct terminal terminal;
	unsigned int threads;
	/* One for each thread. At the end, the first one contains the sum of all. */
	struct tally **tallies;
	struct scanned scanned;
	struct baseline baseline;
	struct ranking ranking;
	/* The CPUs that were full. */
	struct spikes full;
	struct dying_state dying;
};

static void top_done(struct top *top)
{
	for (unsigned int i = 0; top->tallies && i < top->threads; i++)
		tally_free(top->tallies[i]);
	free(top->tallies);
	scanned_done(&top->scanned);
	baseline_done(&top->baseline);
	ranking_done(&top->ranking);
	spikes_done(&top->full);
	dying_state_done(&top->dying);
	query_args_done(&top->args);
}

static int top_parse_options(const struct invocation *invocation, struct top *top)
{
	const char *around = option_value(invocation, "baseline");
	int r = query_args_parse(invocation, &top->args);

	top->around_ns = 12 * 3600 * NSEC_PER_SEC;
	if (r == EXIT_DONE)
		r = screen_read(invocation, &top->terminal);
	if (r == EXIT_DONE && around && duration_parse(around, &top->around_ns) < 0)
		r = usage_error("--baseline: \"%.60s\" is not a length of time; use 12h or 7d",
				around);
	return r;
}

static int top_add(void *context, unsigned int worker, const struct store_segment *segment,
		   const struct tape *tape, const struct window_filter_times *times)
{
	struct top *top = context;

	return tally_add_samples(top->tallies[worker], tape, times->kinds,
				 stack_class_sample_ns(tape, segment->samples),
				 TALLY_CPUS | TALLY_NAMES | TALLY_DETAILS);
}

static int top_read_window(const struct invocation *invocation, struct top *top,
			   struct store_reader *reader, struct error *error)
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
	if (r < 0)
		return r;
	progress_line_start(&progress, "segments", option_given(invocation, "quiet"));
	r = scan_run(reader, &scan, &top->scanned, error);
	progress_line_end(&progress);
	for (unsigned int i = 1; r == 0 && i < top->threads; i++)
		r = tally_merge(top->tallies[0], top->tallies[i]);
	return r;
}

static int top_compare(struct top *top, struct store_reader *reader, struct error *error)
{
	uint64_t spent_ns = clock_ns(CLOCK_MONOTONIC) - top->started_ns;
	const struct baseline_options options_of = {
		.question = top->args.question,
		.around_ns = top->around_ns,
		.limit_ns = MAX(ANSWER_NS - MIN(spent_ns, ANSWER_NS), BASELINE_LEAST_NS),
		.threads = top->threads,
	};
	int r = baseline_make(reader, &options_of, &top->baseline, error);

	return r < 0 ? r
		     : ranking_make(top->tallies[0], top->scanned.coverage.covered_ns,
				    &top->baseline, &top->ranking);
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
		buffer_text(text, "this file has it for all samples only");
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

static int print_screen(const struct invocation *invocation, const struct top *top, bool is_file)
{
	_cleanup_(buffer_done) struct buffer text = { 0 }, first = { 0 }, head = { 0 };

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
		return fail(-ENOMEM, NULL);
	top_draw(&(struct top_screen){ (const char *)first.data, (const char *)head.data,
				       &top->ranking,
				       screen_lines_below(invocation, &top->scanned.coverage) },
		 &top->terminal, &text);
	return screen_print(&text);
}

static int top_print_json(const struct top *top)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	for (size_t i = 0; i < top->full.list.count; i++) {
		buffer_text(&text, "{\"full\":");
		spikes_put_spike(&top->full, &top->full.list.items[i], &text);
		buffer_text(&text, "}\n");
	}
	ranking_put_json(&top->ranking, &top->baseline, &text);
	coverage_put_json(&top->scanned.coverage, &top->args.question.window, &text);
	return screen_print(&text);
}

static int top_answer(const struct invocation *invocation, struct top *top)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct window *window = &top->args.question.window;
	const struct coverage *coverage = &top->scanned.coverage;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error), code;

	if (r == 0)
		r = top_read_window(invocation, top, reader, &error);
	if (r < 0)
		return fail(r, &error);
	if (!top->scanned.samples) {
		say_window(invocation, window);
		return screen_nothing(invocation, reader, window, coverage);
	}
	r = top_compare(top, reader, &error);
	if (r == 0)
		r = full_cpus_find(reader, &top->args.question, &top->full, &error);
	if (r == 0)
		r = dying_state_read(reader, window->from_ns, window->to_ns, &top->dying, &error);
	if (r < 0)
		return fail(r, &error);
	code = option_given(invocation, "json")
		       ? top_print_json(top)
		       : print_screen(invocation, top, store_reader_is_file(reader));
	say_gaps_and_recorder(invocation, reader, window, coverage);
	return code == EXIT_DONE ? coverage_line_code(invocation, coverage) : code;
}

static int top_run(const struct invocation *invocation)
{
	struct top top = {
		.started_ns = clock_ns(CLOCK_MONOTONIC),
		.threads = screen_threads(),
	};
	int r = top_parse_options(invocation, &top);

	if (r == EXIT_DONE)
		r = top_answer(invocation, &top);
	top_done(&top);
	return r;
}

const struct command command_top = {
	.name = "top",
	.summary = "Show the busiest CPUs, threads and functions beside their usual values",
	.about = about,
	.options = options,
	.run = top_run,
};
