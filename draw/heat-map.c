// SPDX-License-Identifier: GPL-2.0-only
/*
 * The caller reads more fractions than heat_draw() draws, because the text around the grid decides
 * how many lines remain. A cell is one or more characters wide. Two rows of fractions share a line
 * if the terminal has half blocks and colours. A column that was not recorded never looks like an
 * idle one.
 */
#include "draw/heat-drawing.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "draw/lines.h"
#include "draw/text.h"

#define FRACTION_LABEL 6 /* " .950 " */
#define CPU_LABEL 8 /* "416-447 " */
#define CELL_WIDTH_MAX 4
#define FRACTIONS 240 /* number of fractions to read; a multiple of any number of rows */
#define LINES_USUAL 20
#define LINES_MAX 25
#define LINES_MIN 3
#define TICK_WIDTH 10
#define MARKS_SHOWN 5

const char *const heat_letters[HEAT_LETTERS] = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" };

static bool has_halves(const struct terminal *terminal)
{
	return terminal_has_palette(terminal) && terminal->unicode;
}

static unsigned int label_width(enum heat_rows by)
{
	return by == HEAT_CPUS ? CPU_LABEL : FRACTION_LABEL;
}

uint32_t heat_columns_max(const struct terminal *terminal, enum heat_rows by)
{
	unsigned int label = label_width(by);

	return terminal->width > label + 1 ? terminal->width - label : 1;
}

uint32_t heat_fractions(void)
{
	return FRACTIONS;
}

/* Returns the largest number of rows that fits and that divides the number of fractions read. */
static uint32_t rows_that_fit(const struct drawing *drawing)
{
	unsigned int lines = drawing->lines ? MIN(drawing->lines, LINES_MAX) : LINES_USUAL;
	uint32_t rows = has_halves(drawing->terminal) ? 2 * lines : lines;

	rows = MIN(rows, drawing->heat->rows);
	while (drawing->heat->rows % rows || (has_halves(drawing->terminal) && rows % 2))
		rows--;
	return rows;
}

void drawing_end_line(const struct drawing *drawing)
{
	while (drawing->text->size && drawing->text->data[drawing->text->size - 1] == ' ')
		drawing->text->size--;
	buffer_u8(drawing->text, '\n');
}

void drawing_put_cell(const struct drawing *drawing, const char *symbol)
{
	for (unsigned int i = 0; i < drawing->cell_width; i++)
		buffer_text(drawing->text, symbol);
}

void drawing_put_unknown(const struct drawing *drawing)
{
	terminal_style(drawing->terminal, STYLE_DIM, drawing->text);
	drawing_put_cell(drawing, drawing->terminal->unicode ? "\u2573" : "x");
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

/* The colours from idle to hottest, readable on dark and on light terminals. */
static const int ramp[] = { -1, 53, 54, 90, 126, 162, 197, 203, 209, 215, 221, 228 };
static const char *const shades[] = { " ", "\u2591", "\u2592", "\u2593", "\u2588" };
size_t drawing_level(const struct drawing *drawing, double value, size_t levels)
{
	double part = drawing->most > 0 ? value / drawing->most : 0;

	if (value <= 0)
		return 0;
	return MIN(1 + (size_t)(part * (levels - 1)), levels - 1);
}

static void put_shade(const struct drawing *drawing, double value)
{
	if (drawing->terminal->unicode)
		drawing_put_cell(drawing,
				 shades[drawing_level(drawing, value, ARRAY_SIZE(shades))]);
	else
		drawing_put_cell(drawing,
				 heat_letters[drawing_level(drawing, value, HEAT_LETTERS)]);
}

static void put_halves(const struct drawing *drawing, double upper, double lower)
{
	int foreground = ramp[drawing_level(drawing, upper, ARRAY_SIZE(ramp))];
	int background = ramp[drawing_level(drawing, lower, ARRAY_SIZE(ramp))];
	const char *block = foreground >= 0 ? "\u2580" : " ";

	if (foreground < 0 && background >= 0) {
		block = "\u2584";
		foreground = background;
		background = -1;
	}
	terminal_colors(drawing->terminal, foreground, background, drawing->text);
	drawing_put_cell(drawing, block);
}

static void put_colored(const struct drawing *drawing, double value)
{
	terminal_colors(drawing->terminal, -1,
			ramp[drawing_level(drawing, value, ARRAY_SIZE(ramp))], drawing->text);
	drawing_put_cell(drawing, " ");
}

static const char *outside_symbol(const struct drawing *drawing)
{
	return drawing->terminal->unicode ? "\u00b7" : "'";
}

/* time outside of the window must not look idle either */
static bool is_outside(const struct drawing *drawing, uint32_t row, uint32_t column)
{
	return heat_is_outside(drawing->heat, row, column) &&
	       (!has_halves(drawing->terminal) || !row ||
		heat_is_outside(drawing->heat, row - 1, column));
}

static void put_outside(const struct drawing *drawing)
{
	terminal_style(drawing->terminal, STYLE_DIM, drawing->text);
	drawing_put_cell(drawing, outside_symbol(drawing));
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

/* Rows count from the bottom. With half blocks, a line holds this row and the one below it. */
static void put_fraction_cell(const struct drawing *drawing, uint32_t row, uint32_t column)
{
	double value = heat_busy(drawing->heat, row, column);

	if (heat_is_unknown(drawing->heat, row, column))
		drawing_put_unknown(drawing);
	else if (is_outside(drawing, row, column))
		put_outside(drawing);
	else if (has_halves(drawing->terminal))
		put_halves(drawing, value, row ? heat_busy(drawing->heat, row - 1, column) : 0);
	else if (terminal_has_palette(drawing->terminal))
		put_colored(drawing, value);
	else
		put_shade(drawing, value);
}

static void put_fractions(const struct drawing *drawing)
{
	uint32_t rows = drawing->heat->rows, step = has_halves(drawing->terminal) ? 2 : 1;

	for (uint32_t done = 0; done < rows; done += step) {
		uint32_t row = rows - 1 - done, lowest = row + 1 - step;

		if (done / step % 4 == 0 || !lowest)
			buffer_printf(drawing->text, " .%03u ", (unsigned)(lowest * 1000 / rows));
		else
			buffer_printf(drawing->text, "%*s", (int)drawing->label_width, "");
		for (uint32_t column = 0; column < drawing->heat->columns; column++)
			put_fraction_cell(drawing, row, column);
		terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
		drawing_end_line(drawing);
	}
}

/* Puts a line above the columns if there is anything to mark. Returns the number of lines. */
static unsigned int put_marks(const struct drawing *drawing)
{
	const struct heat_picture *picture = drawing->picture;
	const struct heat *heat = drawing->heat;
	const struct mark_line line = {
		.marks = picture->marks,
		.count = picture->mark_count,
		.at_ns = picture->at_ns,
		.from_ns = heat->begin_ns,
		.to_ns = heat->begin_ns + heat->columns * heat->column_ns,
		.cells = heat->columns,
		.cell_width = drawing->cell_width,
	};

	if (!mark_line_needed(&line))
		return 0;
	buffer_printf(drawing->text, "%*s", (int)drawing->label_width, "");
	mark_line_put(&line, drawing->terminal, drawing->text);
	buffer_u8(drawing->text, '\n');
	return 1;
}

/* Formats the begin of a column as "03:12:07", or as "11-18T03" if the grid shows several days. */
static void heat_map_time_label(const struct drawing *drawing, uint32_t column, char label[16])
{
	uint64_t ns = drawing->heat->begin_ns + column * drawing->heat->column_ns;
	char text[TIME_TEXT_SIZE];
	bool days = drawing->heat->columns * drawing->heat->column_ns > 86400 * NSEC_PER_SEC;

	time_format(ns, drawing->picture->utc, 0, text);
	if (days)
		snprintf(label, 16, "%.2s-%.2sT%.2s", text + 5, text + 8, text + 11);
	else
		snprintf(label, 16, "%.8s", text + 11);
}

static void heat_map_put_axis(const struct drawing *drawing)
{
	unsigned int width = drawing->heat->columns * drawing->cell_width, used = 0;
	char label[16];

	buffer_printf(drawing->text, "%*s", (int)drawing->label_width, "");
	for (uint32_t column = 0; column < drawing->heat->columns; column++) {
		unsigned int at = column * drawing->cell_width;

		if (at < used)
			continue;
		heat_map_time_label(drawing, column, label);
		if (column && at + strlen(label) + 1 > width)
			break;
		buffer_printf(drawing->text, "%*s|%s", (int)(at - used), "", label);
		used = at + TICK_WIDTH;
		used = MAX(used, at + 1 + (unsigned)strlen(label) + 1);
		buffer_printf(drawing->text, "%*s", (int)(used - at - 1 - strlen(label)), "");
	}
	drawing_end_line(drawing);
}

static void put_listed_marks(const struct drawing *drawing)
{
	const struct heat_picture *picture = drawing->picture;

	mark_list_put(picture->marks, picture->mark_count, drawing->listed, picture->utc,
		      drawing->terminal, drawing->text);
}

/* Returns the number of columns that the scale takes. */
static unsigned int put_fraction_scale(const struct drawing *drawing)
{
	bool color = terminal_has_palette(drawing->terminal);
	size_t levels = color			     ? ARRAY_SIZE(ramp)
			: drawing->terminal->unicode ? ARRAY_SIZE(shades)
						     : HEAT_LETTERS;

	for (size_t i = 1; i < levels; i++) {
		if (color) {
			terminal_colors(drawing->terminal, -1, ramp[i], drawing->text);
			buffer_u8(drawing->text, ' ');
		} else {
			buffer_text(drawing->text,
				    drawing->terminal->unicode ? shades[i] : heat_letters[i]);
		}
	}
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
	return levels - 1;
}

static unsigned int put_cpu_scale(const struct drawing *drawing)
{
	static const char *const names[] = { "user", "kernel", "irq" };
	static const enum terminal_style styles[] = { STYLE_USER, STYLE_KERNEL, STYLE_IRQ };

	for (size_t i = 0; i < ARRAY_SIZE(names) && drawing->terminal->color; i++) {
		terminal_style(drawing->terminal, styles[i], drawing->text);
		buffer_printf(drawing->text, "%s%s", i ? " " : "", names[i]);
	}
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
	return drawing->terminal->color ? strlen("user kernel irq") : 0;
}

static const char color_legend[] =
	"(the colour: what took most of the busy time); full block: 90 % busy or more";

static void put_scale_text(const struct drawing *drawing, struct buffer *legend)
{
	uint64_t host_cpus = drawing->heat->host_cpus;

	if (drawing->heat->by == HEAT_CPUS) {
		buffer_text(
			legend,
			drawing->terminal->color
				? color_legend
				: "U, K, I: 90 % busy or more, mostly user, kernel, interrupts");
		return;
	}
	buffer_printf(legend, "0 to %.2f CPUs busy", drawing->most);
	if (host_cpus)
		buffer_printf(legend, " of %llu", (unsigned long long)host_cpus);
	buffer_printf(legend, "; a row is %.0f ms of each second", 1000.0 / drawing->heat->rows);
}

/* only the first and the last column can reach outside of the window */
static bool has_outside(const struct heat *heat)
{
	for (uint32_t row = 0; row < heat->rows && heat->columns; row++)
		if (heat_is_outside(heat, row, 0) || heat_is_outside(heat, row, heat->columns - 1))
			return true;
	return false;
}

static void heat_map_put_legend(const struct drawing *drawing)
{
	_cleanup_(buffer_done) struct buffer legend = { 0 };
	unsigned int used = drawing->heat->by == HEAT_FRACTIONS ? put_fraction_scale(drawing)
								: put_cpu_scale(drawing);
	char length[32];

	if (used)
		buffer_u8(&legend, ' ');
	put_scale_text(drawing, &legend);
	buffer_printf(&legend, "; a column is %s%s; blank = idle, %s = not recorded",
		      duration_format(drawing->heat->column_ns, length, sizeof(length)),
		      drawing->heat->column_ns > NSEC_PER_SEC ? ", a cell its mean" : "",
		      drawing->terminal->unicode ? "\u2573" : "x");
	if (drawing->heat->by == HEAT_FRACTIONS && has_outside(drawing->heat))
		buffer_printf(&legend, ", %s = outside the window", outside_symbol(drawing));
	buffer_u8(&legend, 0);
	if (buffer_failed(&legend))
		drawing->text->failed = true;
	else
		lines_put(drawing->terminal, (struct lines_shape){ .used = used },
			  (const char *)legend.data, drawing->text);
}

static double hottest_cell(const struct drawing *drawing)
{
	double most = 0;

	for (uint32_t row = 0; row < drawing->heat->rows; row++)
		for (uint32_t column = 0; column < drawing->heat->columns; column++)
			most = MAX(most, heat_busy(drawing->heat, row, column));
	return most;
}

static size_t count_lines(const struct buffer *text)
{
	size_t count = 0;

	for (size_t i = 0; i < text->size; i++)
		count += text->data[i] == '\n';
	return count;
}

/* Puts all text that stands below the rows. */
static void put_foot(const struct drawing *drawing)
{
	heat_map_put_axis(drawing);
	put_listed_marks(drawing);
	if (drawing->cpus.each > 1)
		drawing_put_cpu_note(drawing);
	heat_map_put_legend(drawing);
}

/*
 * Finds how many lines are available for rows, with one left for the prompt. If the terminal has
 * too few lines, lists fewer incidents.
 */
static void fit_lines(struct drawing *drawing, size_t above)
{
	_cleanup_(buffer_done) struct buffer foot = { 0 };
	struct drawing below = *drawing;
	int left;

	below.text = &foot;
	do {
		foot.size = 0;
		put_foot(&below);
		left = (int)drawing->terminal->height - (int)(above + count_lines(&foot)) - 1;
		left -= (int)drawing->picture->lines_below;
	} while (left < LINES_MIN && below.listed-- > 1);
	drawing->listed = MAX(below.listed, (size_t)1);
	drawing->lines = MAX(left, LINES_MIN);
}

/*
 * Makes as many rows as fit. The number of rows changes the length of the text below, and the
 * length of that text changes the number of rows. Two rounds suffice.
 */
static int fit_fractions(struct drawing *drawing, size_t above, struct heat **ret_coarse)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) {
		uint32_t rows;

		if (drawing->terminal->height)
			fit_lines(drawing, above);
		rows = rows_that_fit(drawing);
		heat_free(*ret_coarse);
		*ret_coarse = NULL;
		r = heat_coarser(drawing->picture->heat, rows, ret_coarse);
		if (r < 0)
			return r;
		drawing->heat = *ret_coarse;
		drawing->most = hottest_cell(drawing);
	}
	return r;
}

/* Rows of two or three lines show more precisely how busy a CPU was; more lines do not help. */
#define ROW_LINES_MAX 3

/*
 * Makes rows of several CPUs if there are too many CPUs, and rows of several lines if there are
 * few. The note that explains such rows takes lines, too.
 */
static int fit_cpus(struct drawing *drawing, size_t above)
{
	struct drawing_cpus *cpus = &drawing->cpus;
	int r = drawing_find_cpus(drawing->heat, cpus);

	if (r < 0 || !drawing->terminal->height)
		return r;
	fit_lines(drawing, above);
	if (cpus->count <= drawing->lines) {
		cpus->row_lines =
			MIN(drawing->lines / MAX(cpus->count, (size_t)1), (size_t)ROW_LINES_MAX);
		return 0;
	}
	cpus->each = cpus->count;
	fit_lines(drawing, above);
	cpus->each = drawing_cpus_of_row(cpus->count, drawing->lines);
	return 0;
}

static void heat_map_put_rows(struct drawing *drawing, size_t above)
{
	_cleanup_(cleanup_heat) struct heat *coarse = NULL;
	bool by_cpu = drawing->heat->by == HEAT_CPUS;
	int r = by_cpu ? fit_cpus(drawing, above) : fit_fractions(drawing, above, &coarse);

	if (r < 0)
		drawing->text->failed = true;
	else if (by_cpu)
		drawing_put_cpus(drawing);
	else
		put_fractions(drawing);
	if (r == 0)
		put_foot(drawing);
}

void heat_draw(const struct heat_picture *picture, const struct terminal *terminal,
	       struct buffer *text)
{
	unsigned int room = heat_columns_max(terminal, picture->heat->by);
	struct drawing drawing = {
		.picture = picture,
		.heat = picture->heat,
		.terminal = terminal,
		.text = text,
		.label_width = label_width(picture->heat->by),
		.cell_width = MIN(room / picture->heat->columns, CELL_WIDTH_MAX),
		.listed = MARKS_SHOWN,
		.most = HEAT_SATURATED,
	};

	drawing.cell_width = MAX(drawing.cell_width, 1u);
	heat_map_put_rows(&drawing,
			  lines_put(terminal, (struct lines_shape){ .indent = HEAD_INDENT },
				    picture->head, text) +
				  put_marks(&drawing));
	free(drawing.cpus.numbers);
}
