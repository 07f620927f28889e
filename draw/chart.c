// SPDX-License-Identifier: GPL-2.0-only
#include "draw/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "draw/text.h"

#define NAME_MIN 16
#define NAME_MAX_WIDTH 40
#define NUMBER_WIDTH 11
#define NUMBERS 4
#define CELLS_MIN 8
/* A terminal that lacks room for plots of this width shows fewer numbers. */
#define CELLS_USUAL 16
/* The mark in front of a name, and a blank. */
#define MARK_WIDTH 2
#define ROWS_MIN 3
#define MARKS_SHOWN 2
#define CELLS_MAX 120
/* The width of plots in a pipe, where lines may be of any width. */
#define CELLS_PIPED 40

static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char ascii[] = " .:-=+*#@";
#define LEVELS ((int)ARRAY_SIZE(blocks) - 1)

static unsigned int usual_name_width(const struct terminal *terminal)
{
	unsigned int width = terminal->width / 3;

	return MIN(MAX(width, (unsigned int)NAME_MIN), (unsigned int)NAME_MAX_WIDTH);
}

/*
 * Returns the width of the column of names. Without a terminal, it fits every name, so that each
 * row takes one line.
 */
static unsigned int name_width(const struct chart *chart, const struct terminal *terminal)
{
	unsigned int width = usual_name_width(terminal);

	for (size_t i = 0; !terminal->wrap && i < chart->count; i++)
		width = MAX(width, MARK_WIDTH + text_width(terminal, chart->rows[i].name));
	return width;
}

enum number { NUMBER_LEAST, NUMBER_MEAN, NUMBER_MOST, NUMBER_USUAL };

/* The numbers in the order of their worth. A narrow terminal shows only the first of these. */
static const enum number by_worth[NUMBERS] = { NUMBER_MEAN, NUMBER_USUAL, NUMBER_MOST,
					       NUMBER_LEAST };

static unsigned int shown_numbers(const struct terminal *terminal)
{
	unsigned int used = usual_name_width(terminal) + 2 + CELLS_USUAL, count = NUMBERS;

	while (terminal->wrap && count > 1 && used + count * NUMBER_WIDTH > terminal->wrap)
		count--;
	return count;
}

static bool is_shown(const struct terminal *terminal, enum number number)
{
	unsigned int count = shown_numbers(terminal);

	for (unsigned int i = 0; i < count; i++)
		if (by_worth[i] == number)
			return true;
	return false;
}

unsigned int chart_cells(const struct terminal *terminal)
{
	unsigned int used = usual_name_width(terminal) + shown_numbers(terminal) * NUMBER_WIDTH + 2;

	if (!terminal->wrap)
		return CELLS_PIPED;
	if (terminal->width < used + CELLS_MIN)
		return CELLS_MIN;
	return MIN(terminal->width - used, (unsigned int)CELLS_MAX);
}

/* Converts seconds to the unit in which the number is easy to read, and returns that unit. */
static const char *scale_seconds(double *seconds)
{
	static const struct {
		double seconds;
		const char *unit;
	} scales[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } };

	for (size_t i = 0; i < ARRAY_SIZE(scales); i++)
		if (*seconds >= 2 * scales[i].seconds) {
			*seconds /= scales[i].seconds;
			return scales[i].unit;
		}
	return "s";
}

/*
 * Puts a share in the format of all answers, and other numbers with about three significant digits.
 */
static void chart_put_number(double value, const char *unit, struct buffer *text)
{
	static const char *const powers[] = { "", "k", "M", "G", "T" };
	char number[SHARE_TEXT_SIZE];
	size_t power = 0;

	if (isnan(value)) {
		buffer_printf(text, "%*s", NUMBER_WIDTH, "-");
		return;
	}
	if (strcmp(unit, "%") == 0) {
		buffer_printf(text, "%*s", NUMBER_WIDTH, share_format(value / 100, number));
		return;
	}
	if (strcmp(unit, "times") == 0 && value == 1)
		unit = "time";
	if (strcmp(unit, "s") == 0)
		unit = scale_seconds(&value);
	while (fabs(value) >= 99999.5 && power + 1 < ARRAY_SIZE(powers)) {
		value /= 1000;
		power++;
	}
	snprintf(number, sizeof(number), "%.*f%s%s%s",
		 fabs(value - round(value)) <= 1e-6 * fabs(value) || fabs(value) >= 999.5 ? 0
		 : fabs(value) < 9.995							  ? 2
											  : 1,
		 value, powers[power], *unit ? " " : "", unit);
	buffer_printf(text, "%*s", NUMBER_WIDTH, number);
}

static void chart_put_cell(const struct terminal *terminal, double value, double full,
			   struct buffer *text)
{
	int level = 0;

	if (isnan(value)) {
		buffer_u8(text, terminal->unicode ? ' ' : '?');
		return;
	}
	if (full > 0 && value > 0)
		level = MAX(1, MIN(LEVELS, (int)lround(value / full * LEVELS)));
	if (terminal->unicode)
		buffer_text(text, level ? blocks[level] : "▁");
	else
		buffer_u8(text, level ? ascii[level] : '_');
}

static void chart_put_mark(const struct chart_row *row, const struct terminal *terminal,
			   struct buffer *text)
{
	if (!row->unusual) {
		buffer_printf(text, "%*s", MARK_WIDTH, "");
		return;
	}
	terminal_style(terminal, STYLE_ALERT, text);
	buffer_printf(text, "%s ", !terminal->unicode ? "!" : row->below ? "▼" : "▲");
	terminal_style(terminal, STYLE_PLAIN, text);
}

static bool has_own_line(const struct chart *chart, const struct terminal *terminal,
			 const char *name)
{
	return MARK_WIDTH + text_width(terminal, name) > name_width(chart, terminal);
}

/* A name that does not fit gets its own line, because names often differ only at their ends. */
static void chart_put_name(const struct chart *chart, const struct chart_row *row,
			   const struct terminal *terminal, struct buffer *text)
{
	unsigned int width = name_width(chart, terminal);

	chart_put_mark(row, terminal, text);
	if (has_own_line(chart, terminal, row->name)) {
		text_put_middle(terminal, row->name,
				terminal->wrap > MARK_WIDTH ? terminal->wrap - MARK_WIDTH : 1,
				text);
		buffer_printf(text, "\n%*s", (int)width, "");
	} else {
		text_put(terminal, row->name, width - MARK_WIDTH, text);
	}
}

static void chart_put_numbers(const struct chart_row *row, const struct terminal *terminal,
			      struct buffer *text)
{
	bool most = isnan(row->mean) && !is_shown(terminal, NUMBER_MOST);
	const double values[NUMBERS] = { row->least, most ? row->most : row->mean, row->most,
					 row->usual };

	for (unsigned int i = 0; i < NUMBERS; i++) {
		bool unused = row->is_count && (i == NUMBER_LEAST || i == NUMBER_MOST);
		enum terminal_style style = i == NUMBER_USUAL		       ? STYLE_DIM
					    : i == NUMBER_MEAN && row->unusual ? STYLE_ALERT
									       : STYLE_PLAIN;

		if (!is_shown(terminal, i))
			continue;
		if (style != STYLE_PLAIN)
			terminal_style(terminal, style, text);
		if (unused)
			buffer_printf(text, "%*s", NUMBER_WIDTH, "");
		else
			chart_put_number(values[i], row->unit, text);
		if (style != STYLE_PLAIN)
			terminal_style(terminal, STYLE_PLAIN, text);
	}
}

static void chart_put_row(const struct chart *chart, const struct chart_row *row,
			  const struct terminal *terminal, struct buffer *text)
{
	chart_put_name(chart, row, terminal, text);
	chart_put_numbers(row, terminal, text);
	buffer_text(text, "  ");
	if (row->style != STYLE_PLAIN)
		terminal_style(terminal, row->style, text);
	for (unsigned int i = 0; i < chart->cells; i++)
		chart_put_cell(terminal, row->cells[i], row->full, text);
	while (text->size && text->data[text->size - 1] == ' ')
		text->size--;
	if (row->style != STYLE_PLAIN)
		terminal_style(terminal, STYLE_PLAIN, text);
	buffer_u8(text, '\n');
}

/* Puts the titles, and the marks above the plots. */
static void chart_put_head(const struct chart *chart, const struct terminal *terminal,
			   struct buffer *text)
{
	static const char *const titles[NUMBERS] = { "least", "mean", "most", "usual" };
	const struct mark_line line = {
		.marks = chart->marks,
		.count = chart->mark_count,
		.at_ns = chart->at_ns,
		.from_ns = chart->from_ns,
		.to_ns = chart->to_ns,
		.cells = chart->cells,
		.cell_width = 1,
	};

	terminal_style(terminal, STYLE_BOLD, text);
	buffer_printf(text, "%*s", MARK_WIDTH, "");
	text_put(terminal, "figure", name_width(chart, terminal) - MARK_WIDTH, text);
	for (unsigned int i = 0; i < NUMBERS; i++)
		if (is_shown(terminal, i))
			buffer_printf(text, "%*s", NUMBER_WIDTH, titles[i]);
	terminal_style(terminal, STYLE_PLAIN, text);
	if (mark_line_needed(&line)) {
		buffer_text(text, "  ");
		mark_line_put(&line, terminal, text);
	}
	buffer_u8(text, '\n');
}

/* Formats "03:12:07", with fractions in a short window, or "11-18T03" in a window of over a day. */
static void chart_time_label(const struct chart *chart, uint64_t ns, char label[16])
{
	uint64_t length_ns = chart->to_ns - chart->from_ns;
	char text[TIME_TEXT_SIZE];
	bool fractions = length_ns < 10 * NSEC_PER_SEC;

	time_format(ns, chart->utc, fractions ? 3 : 0, text);
	if (length_ns > 86400 * NSEC_PER_SEC)
		snprintf(label, 16, "%.8s", text + 5);
	else
		snprintf(label, 16, "%.*s", fractions ? 12 : 8, text + 11);
}

/* Puts both ends of the plots on an axis, or neither end if they do not fit. */
static void chart_put_axis(const struct chart *chart, const struct terminal *terminal,
			   struct buffer *text)
{
	char begin[16], end[16];
	unsigned int used;

	if (chart->from_ns == chart->to_ns)
		return;
	chart_time_label(chart, chart->from_ns, begin);
	chart_time_label(chart, chart->to_ns, end);
	used = strlen(begin) + strlen(end) + 3;
	if (used > chart->cells) {
		/* omit the fractions of the seconds; the line about the window contains them */
		begin[MIN(strlen(begin), 8u)] = end[MIN(strlen(end), 8u)] = 0;
		used = strlen(begin) + strlen(end) + 3;
	}
	if (used > chart->cells)
		return;
	text_put(terminal, "",
		 name_width(chart, terminal) + shown_numbers(terminal) * NUMBER_WIDTH + 2, text);
	buffer_printf(text, "|%s%*s%s|\n", begin, (int)(chart->cells - used + 1), "", end);
}

static unsigned int chart_row_lines(const struct chart *chart, const struct terminal *terminal,
				    size_t row)
{
	return has_own_line(chart, terminal, chart->rows[row].name) ? 2 : 1;
}

/* Returns how many rows fit beside the head, the axis and the list of marks. */
static size_t chart_rows_that_fit(const struct chart *chart, const struct terminal *terminal)
{
	size_t listed = MIN(chart->mark_count, (size_t)MARKS_SHOWN + 1), rows = 0;
	unsigned int used = 1 + (chart->from_ns != chart->to_ns) + listed;

	if (!chart->lines)
		return chart->count;
	while (rows < chart->count) {
		used += chart_row_lines(chart, terminal, rows);
		if (used > chart->lines && rows >= ROWS_MIN)
			break;
		rows++;
	}
	return rows;
}

size_t chart_draw(const struct chart *chart, const struct terminal *terminal, struct buffer *text)
{
	size_t rows = chart_rows_that_fit(chart, terminal);

	chart_put_head(chart, terminal, text);
	for (size_t i = 0; i < rows; i++)
		chart_put_row(chart, &chart->rows[i], terminal, text);
	chart_put_axis(chart, terminal, text);
	mark_list_put(chart->marks, chart->mark_count, MARKS_SHOWN, chart->utc, terminal, text);
	return rows;
}
