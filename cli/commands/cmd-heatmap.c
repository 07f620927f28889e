// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/full-cpus.h"
#include "cli/answer/query-args.h"
#include "cli/options/command.h"
#include "cli/answer/incident-marks.h"
#include "cli/answer/progress-line.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"
#include "draw/heat-map.h"
#include "query/sums/window-sums.h"

#define JSON_WIDTH 80
#define JSON_FRACTIONS 20

static const struct option options[] = {
	WINDOW_OPTIONS,
	FILTER_OPTIONS,
	{ "per-cpu", 0, NULL, "a row for each CPU instead of each fraction of a second" },
	JSON_OPTION,
	{ 0 },
};

static const char about[] =
	"A column is a second, or several seconds in a long window. A row is a fraction of the\n"
	"second, from the bottom up: work that repeats every second, or stops for half of one,\n"
	"makes a pattern. With --per-cpu a row is a CPU, and a saturated CPU is a solid line.\n"
	"With more CPUs than lines, a row is the busiest of several CPUs. --kernel and --user\n"
	"leave the time in the kernel, or outside it.\n"
	"\n" WINDOW_ABOUT;

struct heatmap {
	struct query_args args;
	struct terminal terminal;
	unsigned int threads;
	uint32_t fractions;
	struct window_sums sums;
	/* The grid to draw. */
	struct heat *heat;
	struct incident_marks marks;
	struct spikes full;
};

static void heatmap_done(struct heatmap *map)
{
	heat_free(map->heat);
	window_sums_done(&map->sums);
	incident_marks_done(&map->marks);
	spikes_done(&map->full);
	query_args_done(&map->args);
}

static int heatmap_parse_options(const struct invocation *invocation, struct heatmap *map)
{
	int r = query_args_parse(invocation, &map->args);

	if (r == EXIT_DONE)
		r = screen_read(invocation, &map->terminal);
	map->fractions = heat_fractions();
	/* JSON must not depend on the terminal */
	if (option_given(invocation, "json")) {
		map->terminal.width = JSON_WIDTH;
		map->fractions = JSON_FRACTIONS;
	}
	return r;
}

/*
 * Returns the stack classes that the filter leaves out. Classes do not contain frames, so --kernel
 * leaves out the class user, and --user the classes kernel and interrupt.
 */
static unsigned int left_out(const struct filter *filter)
{
	if (filter->frames == FILTER_FRAMES_ALL)
		return 0;
	return filter->frames == FILTER_FRAMES_KERNEL
		       ? 1u << STACK_CLASS_USER
		       : 1u << STACK_CLASS_KERNEL | 1u << STACK_CLASS_IRQ;
}

/* Takes the grid from the sums; for JSON, makes a grid with fewer fractions. */
static int take_grid(struct heatmap *map)
{
	struct heat *heat = map->sums.heat;
	int r = heat_cover(heat, &map->args.question.window, &map->sums.coverage);

	if (r < 0 || heat->by == HEAT_CPUS || map->fractions == heat->rows) {
		map->heat = take_ptr(map->sums.heat);
		return r;
	}
	return heat_coarser(heat, map->fractions, &map->heat);
}

static int heatmap_read_window(const struct invocation *invocation, struct heatmap *map,
			       struct store_reader *reader, struct error *error)
{
	const struct window *window = &map->args.question.window;
	enum heat_rows by = option_given(invocation, "per-cpu") ? HEAT_CPUS : HEAT_FRACTIONS;
	struct progress_line progress;
	const struct heat grid = {
		.by = by,
		.column_ns = heat_column_ns(window, heat_columns_max(&map->terminal, by)),
		.rows = heat_fractions(),
		.left_out = left_out(&map->args.filter),
	};
	const struct window_sums_options wanted = {
		.question = map->args.question,
		.grid = &grid,
		.threads = map->threads,
		.progress = progress_line_show,
		.progress_context = &progress,
	};
	int r;

	progress_line_start(&progress, "segments", option_given(invocation, "quiet"));
	r = window_sums_read(reader, &wanted, &map->sums, error);
	progress_line_end(&progress);
	return r < 0 ? r : take_grid(map);
}

/*
 * Marks the incidents. An episode may have begun before the window, so the book reads all lines of
 * the store.
 */
static int find_marks(struct heatmap *map, struct store_reader *reader, struct error *error)
{
	struct book book;
	int r = book_open(reader, &book, error);

	if (r < 0)
		return r;
	r = incident_marks_make(&book, &map->args.question.window, &map->marks);
	book_done(&book);
	return r;
}

/*
 * Puts a line that names full CPUs, because the grid shows one CPU among many only as a faint
 * colour.
 */
static void heatmap_put_full(const struct invocation *invocation, const struct heatmap *map,
			     struct buffer *head)
{
	size_t size = head->size;

	full_cpus_put_brief(&map->full, option_given(invocation, "utc"), head);
	if (map->full.list.count && !option_given(invocation, "per-cpu"))
		buffer_text(head, "; --per-cpu shows each CPU");
	if (head->size > size)
		buffer_u8(head, '\n');
}

static int heatmap_print(const struct invocation *invocation, const struct heatmap *map)
{
	_cleanup_(buffer_done) struct buffer text = { 0 }, head = { 0 };
	struct heat_picture picture = {
		.heat = map->heat,
		.marks = map->marks.list.items,
		.mark_count = map->marks.list.count,
		.at_ns = map->args.question.window.at_ns,
		.utc = option_given(invocation, "utc"),
		.lines_below = screen_lines_below(invocation, &map->sums.coverage),
	};

	screen_put_head(invocation, &map->args.question.window, map->sums.samples,
			&map->sums.coverage, &head);
	screen_put_filter(&map->args.filter, &head);
	heatmap_put_full(invocation, map, &head);
	buffer_u8(&head, 0);
	if (buffer_failed(&head))
		return fail(-ENOMEM, NULL);
	picture.head = (const char *)head.data;
	heat_draw(&picture, &map->terminal, &text);
	return screen_print_drawing(&map->terminal, &text);
}

/* Prints a line for each column, then the incidents, then the coverage. */
static int heatmap_print_json(const struct heatmap *map)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };

	heat_put_json(map->heat, &json);
	incident_marks_put_json(&map->marks, &json);
	coverage_put_json(&map->sums.coverage, &map->args.question.window, &json);
	return screen_print(&json);
}

static int heatmap_answer(const struct invocation *invocation, struct heatmap *map)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct window *window = &map->args.question.window;
	const struct coverage *coverage = &map->sums.coverage;
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error), code;

	if (r < 0)
		return fail(r, &error);
	r = heatmap_read_window(invocation, map, reader, &error);
	if (r < 0)
		return fail(r, &error);
	if (map->sums.samples)
		r = find_marks(map, reader, &error);
	if (r < 0)
		return fail(r, &error);
	if (map->sums.samples && !option_given(invocation, "json"))
		r = full_cpus_list(reader, &map->args.question, &map->full, &error);
	if (r < 0)
		return fail(r, &error);
	if (!map->sums.samples) {
		say_window(invocation, window);
		return screen_nothing(invocation, reader, window, coverage);
	}
	code = option_given(invocation, "json") ? heatmap_print_json(map)
						: heatmap_print(invocation, map);
	say_gaps_and_recorder(invocation, reader, window, coverage);
	return code == EXIT_DONE ? coverage_line_code(invocation, coverage) : code;
}

static int heatmap_run(const struct invocation *invocation)
{
	struct heatmap map = { .threads = screen_threads() };
	int r = heatmap_parse_options(invocation, &map);

	if (r == EXIT_DONE)
		r = heatmap_answer(invocation, &map);
	heatmap_done(&map);
	return r;
}

const struct command command_heatmap = {
	.name = "heatmap",
	.summary = "Draw a window as a heat map in the terminal",
	.about = about,
	.options = options,
	.run = heatmap_run,
};
