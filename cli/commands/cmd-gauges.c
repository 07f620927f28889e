// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/dying-text.h"
#include "cli/options/command.h"
#include "cli/answer/gauges-rest.h"
#include "cli/answer/host-name.h"
#include "cli/answer/incident-marks.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"
#include "draw/chart.h"
#include "draw/lines.h"
#include "draw/text.h"
#include "query/read/store-host.h"
#include "query/sums/gauge-rows.h"
#include "query/sums/gauge-usual.h"
#include "tape/tape-events.h"

/* With more CPUs than this, the table shows rows that sum up all CPUs. */
#define CPUS_SHOWN 4
/* The time before and after the window whose readings count as usual. */
#define AROUND_NS (10 * 60 * NSEC_PER_SEC)

/* Lines for the messages about figures that the table leaves out. */
#define MESSAGE_LINES 2

static const struct option options[] = {
	WINDOW_OPTIONS,
	{ "name", 0, "GLOB", "only figures whose name matches, such as 'cpu39/*' (repeatable)" },
	{ "csv", 0, NULL, "print comma-separated values, a line for each reading" },
	JSON_OPTION,
	{ 0 },
};

static const char about[] =
	"Shows each CPU's time, the run queue, pressure, reclaim, timeouts of network queues,\n"
	"memory cgroups and quotas. Counters show their growth per second, counters of time per\n"
	"cent, rare events their number. Figures that changed most against their usual value come\n"
	"first; usual is the mean of the ten minutes before and after the window. Without --name,\n"
	"figures that were always 0 are left out.\n"
	"\n" WINDOW_ABOUT;

static const char *const units[] = { [SERIES_LEVEL] = "",
				     [SERIES_SECONDS] = "s",
				     [SERIES_PER_SECOND] = "/s",
				     [SERIES_COUNT] = "times",
				     [SERIES_PER_CENT] = "%" };

struct gauges_answer {
	const struct invocation *invocation;
	struct question question;
	/* Empty, because figures have no filter. */
	struct filter filter;
	struct terminal terminal;
	struct coverage coverage;
	/* The host, before the coverage is complete. */
	struct recorded_facts facts;
	struct globs names;
	/* Indexed by pattern: true if the pattern matches some figure. */
	bool found[GLOBS_MAX];
	uint64_t steps;
	/* The rows of the table. */
	struct gauge_rows figures;
	/* The same figures around the window. */
	struct gauge_rows usual;
	struct incident_marks marks;
	/* Figures that the table does not show. */
	struct gauges_onces onces;
	/* The cgroups that were dying at the end, with their makers. */
	struct dying_state dying;
	/* Output that is not written yet. */
	struct buffer text;
};

static void gauges_answer_done(struct gauges_answer *answer)
{
	gauge_rows_done(&answer->figures);
	gauge_rows_done(&answer->usual);
	incident_marks_done(&answer->marks);
	gauges_onces_done(&answer->onces);
	dying_state_done(&answer->dying);
	array_done(&answer->coverage.gaps);
	buffer_done(&answer->text);
	filter_done(&answer->filter);
}

static int see_for_table(void *context, const struct series_step *step)
{
	struct gauges_answer *answer = context;

	answer->steps++;
	if (gauges_onces_see(&answer->onces, step) < 0)
		return -ENOMEM;
	return step->has_figure ? gauge_rows_add(&answer->figures, step) : 0;
}

/* Adds the steps outside of the window to the usual values. */
static int see_for_usual(void *context, const struct series_step *step)
{
	struct gauges_answer *answer = context;
	const struct window *window = &answer->question.window;
	bool apart = step->to_ns <= window->from_ns || step->from_ns >= window->to_ns;

	return step->has_figure && apart ? gauge_rows_add(&answer->usual, step) : 0;
}

static int gauges_flush(struct gauges_answer *answer)
{
	int r = screen_print(&answer->text);

	answer->text.size = 0;
	/* screen_print() has printed the message */
	return r == EXIT_DONE ? 0 : -ECANCELED;
}

#define FLUSH_SIZE (1u << 18)

static double figure_of(const struct series_step *step)
{
	return MIN(step->figure, series_max(step->name));
}

static int see_for_json(void *context, const struct series_step *step)
{
	struct gauges_answer *answer = context;
	struct buffer *text = &answer->text;
	char time[TIME_TEXT_SIZE];

	answer->steps++;
	buffer_text(text, "{\"time\":");
	json_string(text, time_format(step->to_ns, true, 6, time));
	buffer_text(text, ",\"name\":");
	json_string(text, step->name);
	buffer_printf(text, ",\"value\":%lld", (long long)step->value);
	if (step->has_figure)
		buffer_printf(text, ",\"figure\":%.6g,\"unit\":\"%s\"", figure_of(step),
			      units[step->unit]);
	buffer_text(text, "}\n");
	return text->size > FLUSH_SIZE ? gauges_flush(answer) : 0;
}

static int see_for_csv(void *context, const struct series_step *step)
{
	struct gauges_answer *answer = context;
	struct buffer *text = &answer->text;
	char time[TIME_TEXT_SIZE];

	if (!answer->steps++)
		buffer_text(text, "time,name,value,figure,unit,host\n");
	buffer_printf(text, "%s,",
		      time_format(step->to_ns, option_given(answer->invocation, "utc"), 6, time));
	foreign_put_cell(text, step->name);
	buffer_printf(text, ",%lld,", (long long)step->value);
	if (step->has_figure)
		buffer_printf(text, "%.6g,%s,", figure_of(step), units[step->unit]);
	else
		buffer_text(text, ",,");
	foreign_put_cell(text, answer->facts.host);
	buffer_u8(text, '\n');
	return text->size > FLUSH_SIZE ? gauges_flush(answer) : 0;
}

static bool is_which_cpu(const char *name)
{
	return fnmatch("*_cpu", name, 0) == 0;
}

/* Returns whether an option names exactly this figure. */
static bool gauges_is_named(const struct gauges_answer *answer, const char *name)
{
	bool named = false;

	for (size_t i = 0; !named && i < answer->names.count; i++)
		named = strcmp(answer->names.list[i], name) == 0;
	return named;
}

/*
 * Returns whether the table shows a row. With few CPUs, it shows single CPUs. Otherwise it shows
 * rows that sum up all CPUs, and the single CPUs that stand out.
 */
static bool gauges_is_shown(const struct gauges_answer *answer, const struct gauge_rows_row *row)
{
	bool many = answer->figures.cpus > CPUS_SHOWN;

	/* with options, show rows that sum up all CPUs only if an option names them */
	if (answer->names.count)
		return !row->of_all || gauges_is_named(answer, row->name);
	/* users look up a queue's CPU and a pod's containers by name */
	if (is_which_cpu(row->name) || fnmatch("containers/*/running", row->name, 0) == 0)
		return false;
	return row->most > 0 && (row->of_all   ? many
				 : row->of_cpu ? !many || gauge_usual_stands_out(row)
					       : true);
}

/*
 * Returns the style of a row. The colour shows the kind of CPU time, as in other answers. A figure
 * that does not change is faint.
 */
static enum terminal_style gauges_style(const struct gauge_rows_row *row)
{
	static const struct {
		const char *glob;
		enum terminal_style style;
	} styles[] = { { "*/user", STYLE_USER },
		       { "*/nice", STYLE_USER },
		       { "*/system", STYLE_KERNEL },
		       { "*irq", STYLE_IRQ },
		       { "*/steal", STYLE_ALERT } };

	if (gauge_usual_is_calm(row))
		return STYLE_DIM;
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
		if (fnmatch(styles[i].glob, row->name, 0) == 0)
			return styles[i].style;
	return STYLE_PLAIN;
}

static struct chart_row row_of(const struct gauge_rows_row *row)
{
	bool of_cpus = (row->of_cpu || row->of_all) && row->unit == SERIES_PER_CENT;
	bool is_count = row->unit == SERIES_COUNT, numbers = !is_which_cpu(row->name);

	return (struct chart_row){
		.name = row->name,
		.unit = units[row->unit],
		.least = row->least,
		/* a mean of CPU numbers is meaningless */
		.mean = !numbers   ? NAN
			: is_count ? row->times
				   : row->mean,
		.most = row->most,
		.usual = numbers ? row->usual : NAN,
		.cells = row->cells,
		.full = of_cpus ? 100 : row->most,
		.is_count = is_count,
		.unusual = numbers && gauge_usual_stands_out(row),
		.below = (is_count ? row->times : row->mean) < row->usual,
		.style = gauges_style(row),
	};
}

/* Figures that the table does not show. */
struct left_out {
	/* Figures that changed less than the figures on the screen. */
	size_t below;
	/* Figures that were always 0, or that are those of single CPUs. */
	size_t hidden;
};

static void put_covered(const struct gauges_answer *answer, struct buffer *text)
{
	buffer_printf(text, "%" PRIu64 " reading%s; ", answer->steps, plural(answer->steps));
	coverage_describe(&answer->coverage, text);
}

/* Returns the number of lines that the messages around the table take. */
static unsigned int gauges_message_lines(const struct gauges_answer *answer)
{
	_cleanup_(buffer_done) struct buffer text = { 0 }, note = { 0 };

	if (!isatty(STDERR_FILENO) || option_given(answer->invocation, "quiet"))
		return 0;
	put_covered(answer, &text);
	buffer_printf(&note, "note: %s", answer->question.window.note);
	return MESSAGE_LINES + message_rows(buffer_shown(&text)) +
	       (*answer->question.window.note ? message_rows(buffer_shown(&note)) : 0) +
	       (gauges_onces_count(&answer->onces) > 0);
}

/*
 * Returns the number of lines for the table; 0: no limit. With --name, the user asks for all rows.
 */
static unsigned int gauges_lines(const struct gauges_answer *answer, size_t around)
{
	unsigned int used = 1 + around + gauges_message_lines(answer);

	if (!answer->terminal.height || answer->names.count)
		return 0;
	used += screen_lines_below(answer->invocation, &answer->coverage);
	return answer->terminal.height > used ? answer->terminal.height - used : 1;
}

static int put_table(struct gauges_answer *answer, size_t around, struct buffer *text,
		     struct left_out *ret_left_out)
{
	const struct gauge_rows *figures = &answer->figures;
	struct chart chart = {
		.cells = figures->cells,
		.from_ns = figures->window.from_ns,
		.to_ns = figures->window.to_ns,
		.utc = option_given(answer->invocation, "utc"),
		.marks = answer->marks.list.items,
		.mark_count = answer->marks.list.count,
		.at_ns = figures->window.at_ns,
		.lines = gauges_lines(answer, around),
	};
	struct chart_row *rows = calloc(figures->rows.count, sizeof(*rows));
	struct left_out left_out = { 0 };

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < figures->rows.count; i++) {
		const struct gauge_rows_row *row = &figures->rows.items[i];

		if (gauges_is_shown(answer, row))
			rows[chart.count++] = row_of(row);
		else if (!row->of_all)
			left_out.hidden++;
	}
	chart.rows = rows;
	if (chart.count)
		left_out.below = chart.count - chart_draw(&chart, &answer->terminal, text);
	free(rows);
	*ret_left_out = left_out;
	return buffer_failed(text) ? -ENOMEM : 0;
}

/* Prints how many figures the table leaves out. */
static void gauges_say_left_out(const struct gauges_answer *answer, const struct left_out *left_out)
{
	size_t once = gauges_onces_count(&answer->onces);

	if (answer->names.count)
		return;
	if (left_out->below)
		say(answer->invocation, "%zu more figure%s changed less: --name '*' shows all",
		    left_out->below, plural(left_out->below));
	if (left_out->hidden)
		say(answer->invocation,
		    "%zu figure%s always 0 or of single CPUs: --name '*' shows all",
		    left_out->hidden, left_out->hidden == 1 ? " is" : "s are");
	if (once)
		say(answer->invocation, "%zu counter%s read only once: --name '*' shows the value",
		    once, once == 1 ? " was" : "s were");
}

/* Returns whether the table has a figure whose name begins so. */
static bool gauges_has(const struct gauges_answer *answer, const char *begin)
{
	bool has = false;

	for (size_t i = 0; !has && i < answer->figures.rows.count; i++) {
		const struct gauge_rows_row *row = &answer->figures.rows.items[i];

		has = strncmp(row->name, begin, strlen(begin)) == 0 && gauges_is_shown(answer, row);
	}
	return has;
}

/* Returns the number of lines on the terminal. */
static unsigned int put_dying(const struct gauges_answer *answer, struct buffer *text)
{
	_cleanup_(buffer_done) struct buffer lines = { 0 };

	if (!answer->dying.at_ns || !gauges_has(answer, TAPE_GAUGE_DYING))
		return 0;
	dying_text_lines(&answer->dying, DYING_TEXT_KINDS, &answer->terminal, &lines);
	if (gauges_has(answer, "memory_cgroups/dying"))
		dying_text_two_counts(&lines);
	buffer_u8(&lines, 0);
	if (!buffer_failed(&lines))
		return lines_put(&answer->terminal, (struct lines_shape){ .indent = HEAD_INDENT },
				 (const char *)lines.data, text);
	text->failed = true;
	return 0;
}

static int gauges_print_table(struct gauges_answer *answer)
{
	_cleanup_(buffer_done) struct buffer text = { 0 }, onces = { 0 }, below = { 0 };
	struct left_out left_out;
	unsigned int around;
	int r;

	gauge_rows_finish(&answer->figures);
	gauge_rows_finish(&answer->usual);
	gauge_usual_compare(&answer->figures, &answer->usual);
	around = put_dying(answer, &below) +
		 host_name_put_head(answer->invocation, &answer->coverage.facts,
				    &answer->question.window, &answer->terminal, &text);
	if (put_table(answer, around, &text, &left_out) < 0)
		return fail(-ENOMEM, NULL);
	if (answer->names.count)
		gauges_onces_put(&answer->onces, option_given(answer->invocation, "utc"), &onces);
	buffer_u8(&onces, 0);
	if (buffer_failed(&onces) || buffer_failed(&below))
		return fail(-ENOMEM, NULL);
	buffer_bytes(&text, below.data, below.size);
	if (onces.size > 1)
		lines_put(&answer->terminal, (struct lines_shape){ .indent = HEAD_INDENT },
			  (const char *)onces.data, &text);
	r = screen_print_drawing(&answer->terminal, &text);
	gauges_say_left_out(answer, &left_out);
	return r;
}

static int print_end(struct gauges_answer *answer)
{
	if (option_given(answer->invocation, "json"))
		coverage_put_json(&answer->coverage, &answer->question.window, &answer->text);
	else if (!option_given(answer->invocation, "csv"))
		return gauges_print_table(answer);
	return screen_print(&answer->text);
}

/* Accepts all figures, and notes the patterns that match. */
static bool see_name(void *context, const char *name)
{
	struct gauges_answer *answer = context;

	for (size_t i = 0; i < answer->names.count; i++)
		answer->found[i] |= series_has_name(name, answer->names.list[i]);
	return true;
}

static int read_series(struct gauges_answer *answer, struct store_reader *reader)
{
	const struct invocation *invocation = answer->invocation;
	struct error error = { 0 };
	struct progress_line progress;
	const struct series_options of = {
		.question = answer->question,
		.names = answer->names,
		.wants = see_name,
		.see = option_given(invocation, "json")	 ? see_for_json
		       : option_given(invocation, "csv") ? see_for_csv
							 : see_for_table,
		.context = answer,
		.progress = progress_line_show,
		.progress_context = &progress,
	};
	int r = store_host_find(reader, &answer->question.window, &answer->facts, &error);

	if (r < 0)
		return fail(r, &error);
	progress_line_start(&progress, "segments", option_given(invocation, "quiet"));
	r = series_run(reader, &of, &answer->coverage, &error);
	progress_line_end(&progress);
	if (r < 0)
		return fail(r, &error);
	r = dying_state_read(reader, answer->question.window.from_ns, answer->question.window.to_ns,
			     &answer->dying, &error);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

/* Reads what the table needs beside the figures: their usual values, and the incidents. */
static int read_for_table(struct gauges_answer *answer, struct store_reader *reader)
{
	const struct window *window = &answer->question.window;
	struct series_options around = {
		.question = answer->question,
		.names = answer->names,
		.see = see_for_usual,
		.context = answer,
	};
	struct coverage coverage = { 0 };
	_cleanup_(book_done) struct book book = { 0 };
	struct error error = { 0 };
	int r;

	around.question.window.from_ns -= MIN(AROUND_NS, window->from_ns);
	around.question.window.to_ns += MIN(AROUND_NS, UINT64_MAX - window->to_ns);
	answer->usual.window = around.question.window;
	answer->usual.cells = 1;
	r = series_run(reader, &around, &coverage, &error);
	array_done(&coverage.gaps);
	if (r < 0)
		return fail(r, &error);
	r = book_open(reader, &book, &error);
	if (r < 0)
		return fail(r, &error);
	r = incident_marks_make(&book, window, &answer->marks);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

static int say_unknown(const struct gauges_answer *answer, struct store_reader *reader,
		       const char *name)
{
	_cleanup_(buffer_done) struct buffer text = { 0 }, clean = { 0 };
	struct error error = { 0 };
	int r = gauges_put_unknown(reader, &answer->question, name, &text, &error);

	if (r < 0)
		return fail(r, &error);
	text_put_short(&answer->terminal, (const char *)text.data, UINT32_MAX, &clean);
	warn("%s", buffer_shown(&clean));
	return EXIT_NOTHING;
}

/* Reports each pattern that does not match a figure. Returns EXIT_NOTHING after a report. */
static int say_all_unknown(const struct gauges_answer *answer, struct store_reader *reader)
{
	int r = EXIT_DONE;

	for (size_t i = 0; r != EXIT_FAILED && i < answer->names.count; i++)
		if (!answer->steps || !answer->found[i])
			r = say_unknown(answer, reader, answer->names.list[i]);
	return r;
}

static bool has_table(const struct gauges_answer *answer)
{
	return !option_given(answer->invocation, "json") &&
	       !option_given(answer->invocation, "csv");
}

static int answer_none(const struct gauges_answer *answer, struct store_reader *reader)
{
	if (has_table(answer))
		say_window(answer->invocation, &answer->question.window);
	if (!answer->coverage.covered_ns)
		return screen_nothing(answer->invocation, reader, &answer->question.window,
				      &answer->coverage);
	if (answer->names.count)
		return say_all_unknown(answer, reader);
	warn("that window was recorded, but without host figures");
	return EXIT_NOTHING;
}

/* Prints the coverage of the samples, which is also that of the figures. */
static void gauges_say_covered(const struct gauges_answer *answer, struct store_reader *reader)
{
	const struct invocation *invocation = answer->invocation;
	_cleanup_(buffer_done) struct buffer text = { 0 };

	put_covered(answer, &text);
	if (!option_given(invocation, "quiet") || !coverage_is_whole(&answer->coverage))
		warn("%s", buffer_shown(&text));
	say_gaps_and_recorder(invocation, reader, &answer->question.window, &answer->coverage);
}

static int gauges_run_answer(struct gauges_answer *answer)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct invocation *invocation = answer->invocation;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r < 0)
		return fail(r, &error);
	answer->figures.window = answer->question.window;
	answer->figures.cells = chart_cells(&answer->terminal);
	if (!has_table(answer))
		say_window(invocation, &answer->question.window);
	r = read_series(answer, reader);
	if (r != EXIT_DONE)
		return r;
	if (!answer->steps)
		return answer_none(answer, reader);
	if (has_table(answer))
		say_window_note(invocation, &answer->question.window);
	if (has_table(answer))
		r = read_for_table(answer, reader);
	if (r == EXIT_DONE)
		r = print_end(answer);
	if (r == EXIT_DONE && say_all_unknown(answer, reader) == EXIT_FAILED)
		return EXIT_FAILED;
	gauges_say_covered(answer, reader);
	return r == EXIT_DONE ? coverage_line_code(invocation, &answer->coverage) : r;
}

static int gauges_run(const struct invocation *invocation)
{
	struct gauges_answer answer = { .invocation = invocation };
	int r;

	if (option_given(invocation, "json") && option_given(invocation, "csv"))
		return usage_error("--json and --csv exclude each other; give one");
	r = globs_option_parse(invocation, "name", &answer.names);
	if (r == EXIT_DONE)
		r = window_option_parse(invocation, &answer.question.window);
	if (r == EXIT_DONE)
		r = screen_read(invocation, &answer.terminal);
	answer.question.filter = &answer.filter;
	if (r == EXIT_DONE)
		r = gauges_run_answer(&answer);
	gauges_answer_done(&answer);
	return r;
}

const struct command command_gauges = {
	.name = "gauges",
	.summary = "Show what the host was doing in a window: CPU time, pressure, memory cgroups",
	.about = about,
	.options = options,
	.run = gauges_run,
};
