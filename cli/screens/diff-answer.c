// SPDX-License-Identifier: GPL-2.0-only
#include "cli/screens/diff-answer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "base/worker.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"
#include "draw/changes-table.h"

/* The time for reading a baseline. */
#define BASELINE_NS NSEC_PER_SEC
#define TABLES_MAX 3

static void diff_side_done(struct diff_side *side)
{
	window_sums_done(&side->sums);
	side->reader = store_reader_close(side->reader);
	query_args_done(&side->args);
}

void diff_done(struct diff *diff)
{
	diff_side_done(&diff->before);
	diff_side_done(&diff->after);
	baseline_done(&diff->baseline);
}

int diff_open(struct diff *diff, struct error *error)
{
	int r = store_reader_open(store_path(&diff->after.invocation), &diff->after.reader, error);

	if (r < 0)
		return r;
	if (!diff->around_ns)
		return store_reader_open(store_path(&diff->before.invocation), &diff->before.reader,
					 error);
	return 0;
}

static void diff_read_side(const struct diff *diff, struct diff_side *side)
{
	const struct window_sums_options options = {
		.question = side->args.question,
		.parts = TALLY_ALL,
		.by = changes_tally(diff->by),
		.threads = screen_threads(),
	};

	side->result = window_sums_read(side->reader, &options, &side->sums, &side->error);
}

struct diff_job {
	const struct diff *diff;
	struct diff_side *side;
};

static void *diff_read_beside(void *context)
{
	const struct diff_job *job = context;

	diff_read_side(job->diff, job->side);
	return NULL;
}

/* Reads both windows. Without a second thread, reads them one after the other. */
static void diff_read_windows(struct diff *diff)
{
	struct diff_job job = { diff, &diff->before };
	pthread_t thread;
	bool beside = worker_start(&thread, diff_read_beside, &job) == 0;

	diff_read_side(diff, &diff->after);
	if (beside)
		pthread_join(thread, NULL);
	else
		diff_read_side(diff, &diff->before);
}

static int diff_read_baseline(struct diff *diff, struct error *error)
{
	const struct baseline_options options = {
		.question = diff->after.args.question,
		.by = changes_tally(diff->by),
		.around_ns = diff->around_ns,
		.limit_ns = BASELINE_NS,
		.threads = screen_threads(),
	};

	diff_read_side(diff, &diff->after);
	return baseline_make(diff->after.reader, &options, &diff->baseline, error);
}

/* Returns the exit code of a side that has no answer, after a message; EXIT_DONE if it has one. */
static int diff_check_side(const struct diff_side *side)
{
	const struct window *window = &side->args.question.window;

	if (side->result < 0)
		return fail(side->result, &side->error);
	if (side->sums.samples)
		return EXIT_DONE;
	say_window(&side->invocation, window);
	return screen_nothing(&side->invocation, side->reader, window, &side->sums.coverage);
}

static int diff_read(struct diff *diff)
{
	struct error error = { 0 };
	char around[32];
	int r = 0, code;

	if (diff->around_ns)
		r = diff_read_baseline(diff, &error);
	else
		diff_read_windows(diff);
	code = diff_check_side(&diff->after);
	if (code != EXIT_DONE)
		return code;
	if (!diff->around_ns)
		return diff_check_side(&diff->before);
	if (r < 0)
		return fail(r, &error);
	if (diff->baseline.names_ns)
		return EXIT_DONE;
	duration_format(diff->around_ns, around, sizeof(around));
	if (diff->baseline.unread) {
		warn("no such sample within %s of the window can be read; see perftape verify",
		     around);
		return EXIT_NOTHING;
	}
	warn("no such sample is recorded within %s of the window; compare two windows instead",
	     around);
	return EXIT_NOTHING;
}

static struct changes_side diff_side_of(const struct diff_side *side)
{
	uint64_t ns = side->sums.coverage.covered_ns;

	return (struct changes_side){ side->sums.tally, ns, ns };
}

struct changes_side diff_before(const struct diff *diff)
{
	const struct baseline *baseline = &diff->baseline;

	if (!diff->around_ns)
		return diff_side_of(&diff->before);
	return (struct changes_side){ baseline->tally, baseline->names_ns, baseline->cpus_ns };
}

static void diff_put_baseline(const struct diff *diff, struct buffer *text)
{
	const struct baseline *baseline = &diff->baseline;
	uint64_t day_ns = diff->after.args.question.window.from_ns;
	bool utc = option_given(&diff->whole, "utc");
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	buffer_printf(text, "usual, %s to %s (%" PRIu64 " sample%s",
		      screen_time_of_day(baseline->from_ns, day_ns, utc, from),
		      screen_time_of_day(baseline->to_ns, day_ns, utc, to),
		      baseline->tally->samples, plural(baseline->tally->samples));
	if (baseline->segments < baseline->of && !baseline->rest)
		buffer_printf(text, " of %" PRIu64 " of %" PRIu64 " segments", baseline->segments,
			      baseline->of);
	buffer_text(text, baseline->rest ? " of the same segments)\n" : ")\n");
}

static void diff_put_side(const struct diff_side *side, struct buffer *text)
{
	screen_put_head(&side->invocation, &side->args.question.window, side->sums.samples,
			&side->sums.coverage, text);
	screen_put_filter(&side->args.filter, text);
}

static void diff_put_head(const struct diff *diff, size_t rows, struct buffer *text)
{
	const struct changes_side before = diff_before(diff), after = diff_side_of(&diff->after);
	double busy = changes_busy(&before), then = changes_busy(&after);

	buffer_text(text, "before: ");
	if (diff->around_ns)
		diff_put_baseline(diff, text);
	else
		diff_put_side(&diff->before, text);
	buffer_text(text, "after: ");
	diff_put_side(&diff->after, text);
	buffer_printf(text, "%.2f CPUs busy before, %.2f after\n", busy, then);
	buffer_printf(text, "marked: changes of %s beyond sampling noise (rows tried: %zu)\n",
		      diff->parts ? "the part of the busy time" : "CPU time", rows);
	buffer_u8(text, 0);
}

static unsigned int diff_lines_below(const struct diff *diff)
{
	unsigned int lines = screen_lines_below(&diff->whole, &diff->after.sums.coverage);

	return diff->around_ns
		       ? lines
		       : lines + screen_lines_below(&diff->whole, &diff->before.sums.coverage);
}

static int diff_put_screen(const struct diff *diff, const struct changes *tables, size_t count,
			   struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer head = { 0 };
	size_t rows = 0;

	for (size_t i = 0; i < count; i++)
		rows += tables[i].rows.count;
	diff_put_head(diff, rows, &head);
	if (buffer_failed(&head))
		return -ENOMEM;
	changes_table_draw(&(struct changes_screen){ (const char *)head.data, tables, count,
						     diff_lines_below(diff), diff->rows },
			   &diff->terminal, text);
	return 0;
}

static void diff_json_put_side(const char *key, const struct changes_side *side, uint64_t from_ns,
			       uint64_t to_ns, struct buffer *json)
{
	json_open(json, '{');
	json_key(json, key);
	json_open(json, '{');
	json_time(json, "from", from_ns);
	json_time(json, "to", to_ns);
	json_key(json, "samples");
	json_u64(json, side->tally->samples);
	json_key(json, "recorded_ns");
	json_u64(json, side->names_ns);
	json_key(json, "busy_cpus");
	json_signed_nano(json, (int64_t)(changes_busy(side) * 1e6 + 0.5) * 1000);
	json_close(json, '}');
	json_close(json, '}');
	buffer_text(json, "\n");
}

/* The last lines are the coverage of both windows, that of the earlier window first. */
static void diff_put_json(const struct diff *diff, const struct changes *tables, size_t count,
			  struct buffer *json)
{
	const struct changes_side before = diff_before(diff), after = diff_side_of(&diff->after);
	const struct window *earlier = &diff->before.args.question.window,
			    *later = &diff->after.args.question.window;
	const struct baseline *baseline = &diff->baseline;

	diff_json_put_side("before", &before,
			   diff->around_ns ? baseline->from_ns : earlier->from_ns,
			   diff->around_ns ? baseline->to_ns : earlier->to_ns, json);
	diff_json_put_side("after", &after, later->from_ns, later->to_ns, json);
	for (size_t i = 0; i < count; i++)
		changes_put_json(&tables[i], diff->rows, json);
	if (!diff->around_ns)
		coverage_put_json(&diff->before.sums.coverage, earlier, json);
	coverage_put_json(&diff->after.sums.coverage, later, json);
}

/* Makes the tables: the one of --by, or three. */
static int diff_make_tables(const struct diff *diff, struct changes tables[TABLES_MAX],
			    size_t *ret_count)
{
	static const enum changes_by usual[TABLES_MAX] = { CHANGES_BY_CPU, CHANGES_BY_NAME,
							   CHANGES_BY_FUNCTION };
	const struct changes_side before = diff_before(diff), after = diff_side_of(&diff->after);
	size_t count = diff->by_given ? 1 : TABLES_MAX;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = changes_make(diff->by_given ? diff->by : usual[i], diff->parts, &before, &after,
				 &tables[i]);
	*ret_count = count;
	return r;
}

static int diff_print(const struct diff *diff)
{
	struct changes tables[TABLES_MAX] = { 0 };
	_cleanup_(buffer_done) struct buffer text = { 0 };
	bool json = option_given(&diff->whole, "json");
	size_t count = 0;
	int r = diff_make_tables(diff, tables, &count);

	if (r == 0 && json)
		diff_put_json(diff, tables, count, &text);
	else if (r == 0)
		r = diff_put_screen(diff, tables, count, &text);
	for (size_t i = 0; i < TABLES_MAX; i++)
		changes_done(&tables[i]);
	return r < 0 ? fail(r, NULL) : screen_print_drawing(&diff->terminal, &text);
}

static int diff_end_side(const struct diff_side *side, int code)
{
	int own = coverage_line_code(&side->invocation, &side->sums.coverage);

	say_gaps_and_recorder(&side->invocation, side->reader, &side->args.question.window,
			      &side->sums.coverage);
	return code == EXIT_DONE ? own : code;
}

int diff_end(const struct diff *diff)
{
	int code = diff->around_ns ? EXIT_DONE : diff_end_side(&diff->before, EXIT_DONE);

	return diff_end_side(&diff->after, code);
}

int diff_answer(struct diff *diff)
{
	int r = diff_read(diff);

	if (r == EXIT_DONE)
		r = diff_print(diff);
	return r == EXIT_DONE ? diff_end(diff) : r;
}
