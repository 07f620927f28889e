// SPDX-License-Identifier: GPL-2.0-only
#include "draw/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "draw/text.h"

#define NAME_MIN 16
#define NAME_MAX_WIDTH 40
#define NUMBER_WIDTH 11
#define NUMBERS 3
#define CELLS_MIN 8
#define CELLS_MAX 120

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
		width = MAX(width, text_width(terminal, chart->rows[i].name));
	return width;
}

/* On a narrow terminal, the chart omits the column "least" first, then "mean". */
static unsigned int shown_numbers(const struct terminal *terminal)
{
	unsigned int used = usual_name_width(terminal) + 2 + CELLS_MIN, count = NUMBERS;

	while (terminal->wrap && count > 1 && used + count * NUMBER_WIDTH > terminal->wrap)
		count--;
	return count;
}

unsigned int chart_cells(const struct terminal *terminal)
{
	unsigned int used = usual_name_width(terminal) + shown_numbers(terminal) * NUMBER_WIDTH + 2;

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

/* Puts a number with about three significant digits. */
static void chart_put_number(double value, const char *unit, struct buffer *text)
{
	static const char *const powers[] = { "", "k", "M", "G", "T" };
	char number[32];
	size_t power = 0;

	if (isnan(value)) {
		buffer_printf(text, "%*s", NUMBER_WIDTH, "-");
		return;
	}
	if (strcmp(unit, "s") == 0)
		unit = scale_seconds(&value);
	while (fabs(value) >= 99999.5 && power + 1 < ARRAY_SIZE(powers)) {
		value /= 1000;
		power++;
	}
	snprintf(number, sizeof(number), "%.*f%s%s%s",
		 value == floor(value) || fabs(value) >= 999.5 ? 0
		 : fabs(value) < 9.995			       ? 2
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

/* A name that does not fit gets its own line, because names often differ only at their ends. */
static void chart_put_name(const struct chart *chart, const struct terminal *terminal,
			   const char *name, struct buffer *text)
{
	unsigned int width = name_width(chart, terminal);

	if (text_width(terminal, name) > width) {
		text_put_middle(terminal, name, terminal->wrap, text);
		buffer_u8(text, '\n');
		name = "";
	}
	text_put(terminal, name, width, text);
}

static void chart_put_row(const struct chart *chart, const struct chart_row *row,
			  const struct terminal *terminal, struct buffer *text)
{
	unsigned int numbers = shown_numbers(terminal);

	chart_put_name(chart, terminal, row->name, text);
	if (row->is_count)
		buffer_printf(text, "%*s", (int)(numbers - 1) * NUMBER_WIDTH, "");
	if (!row->is_count && numbers > 2)
		chart_put_number(row->least, row->unit, text);
	if (!row->is_count && numbers > 1)
		chart_put_number(row->mean, row->unit, text);
	chart_put_number(row->most, row->unit, text);
	buffer_text(text, "  ");
	for (unsigned int i = 0; i < chart->cells; i++)
		chart_put_cell(terminal, row->cells[i], row->full, text);
	while (text->size && text->data[text->size - 1] == ' ')
		text->size--;
	buffer_u8(text, '\n');
}

static void chart_put_titles(const struct chart *chart, bool counts,
			     const struct terminal *terminal, struct buffer *text)
{
	const char *const titles[NUMBERS] = { counts ? "" : "least", counts ? "" : "mean",
					      counts ? "times" : "most" };

	text_put(terminal, "", name_width(chart, terminal), text);
	for (unsigned int i = NUMBERS - shown_numbers(terminal); i < NUMBERS; i++)
		buffer_printf(text, "%*s", NUMBER_WIDTH, titles[i]);
}

/* Puts the rows of counts or those of values, if any, under a heading. */
static void chart_put_section(const struct chart *chart, bool counts,
			      const struct terminal *terminal, struct buffer *text)
{
	bool first = true;

	for (size_t i = 0; i < chart->count; i++) {
		if (chart->rows[i].is_count != counts)
			continue;
		if (first) {
			terminal_style(terminal, STYLE_BOLD, text);
			chart_put_titles(chart, counts, terminal, text);
			terminal_style(terminal, STYLE_PLAIN, text);
			buffer_u8(text, '\n');
		}
		first = false;
		chart_put_row(chart, &chart->rows[i], terminal, text);
	}
}

/* Formats "03:12:07", with fractions in a short window, or "11-18T03" in one of several days. */
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

void chart_draw(const struct chart *chart, const struct terminal *terminal, struct buffer *text)
{
	chart_put_section(chart, false, terminal, text);
	chart_put_section(chart, true, terminal, text);
	chart_put_axis(chart, terminal, text);
}
