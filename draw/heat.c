// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cell is one or more characters wide. Of fractions two rows share a line where there are half blocks and colours to draw them with. A column of
 * which nothing was recorded is drawn as such, never as idle.
 */
#include "draw/heat.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "draw/text.h"

#define LABEL_WIDTH 6 /* " .950 ", "  127 " */
#define CELL_WIDTH_MAX 4
#define LINES_USUAL 20
#define LINES_LEAST 5
/* Of the head, the marks, the axis, the legend and the prompt, at about. */
#define LINES_AROUND 10
#define TICK_WIDTH 10
#define MARKS_SHOWN 5
#define MARK_WIDTH 16 /* "v 03:12:07.125  " */
#define SATURATED 0.9

struct drawing {
	const struct heat_picture *picture;
	const struct heat *heat;
	const struct terminal *terminal;
	struct buffer *text;
	unsigned int cell_width;
	double most; /* CPUs, of the hottest cell */
};

static unsigned int lines_for_rows(const struct terminal *terminal)
{
	if (!terminal->height)
		return LINES_USUAL;
	return MAX((int)terminal->height - LINES_AROUND, LINES_LEAST);
}

static bool has_halves(const struct terminal *terminal)
{
	return terminal->color && terminal->unicode;
}

uint32_t heat_columns_max(const struct terminal *terminal)
{
	return terminal->width > LABEL_WIDTH + 1 ? terminal->width - LABEL_WIDTH : 1;
}

uint32_t heat_fractions(const struct terminal *terminal)
{
	unsigned int lines = MIN(lines_for_rows(terminal), 25u);

	return has_halves(terminal) ? 2 * lines : lines;
}

/* Was it of the window, and not recorded? */
static bool is_unknown(const struct drawing *drawing, uint32_t row, uint32_t column)
{
	const struct heat *heat = drawing->heat;

	return heat_cell_ns(heat, heat->asked_ns.items, row, column) > 0 &&
	       heat_cell_ns(heat, heat->covered_ns.items, row, column) <= 0;
}

/* CPUs that were busy in a cell, on average; of a sliver of one nothing can be said. */
static double busy(const struct drawing *drawing, uint32_t row, uint32_t column)
{
	const struct heat *heat = drawing->heat;
	double ns = heat_cell_ns(heat, heat->covered_ns.items, row, column);

	double value = ns >= NSEC_PER_MSEC ? load_work_ns(heat_cell(heat, row, column)) / ns : 0;

	/* samples are spread by their usual distance, which is not the one that they have */
	if (heat->by == HEAT_FRACTIONS && heat->host_cpus)
		return MIN(value, (double)heat->host_cpus);
	return value;
}

static void end_line(const struct drawing *drawing)
{
	while (drawing->text->size && drawing->text->data[drawing->text->size - 1] == ' ')
		drawing->text->size--;
	buffer_u8(drawing->text, '\n');
}

static void put_repeated(const struct drawing *drawing, const char *what)
{
	for (unsigned int i = 0; i < drawing->cell_width; i++)
		buffer_text(drawing->text, what);
}

static void put_unknown(const struct drawing *drawing)
{
	terminal_style(drawing->terminal, STYLE_DIM, drawing->text);
	put_repeated(drawing, drawing->terminal->unicode ? "\u2573" : "x");
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

/* From nothing to the hottest, as the eye sees it on dark and on light. */
static const int ramp[] = { -1, 53, 54, 90, 126, 162, 197, 203, 209, 215, 221, 228 };
static const char *const shades[] = { " ", "\u2591", "\u2592", "\u2593", "\u2588" };
static const char *const letters[] = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" };

/* What is there at all is not drawn as nothing. */
static size_t level(const struct drawing *drawing, double value, size_t levels)
{
	double part = drawing->most > 0 ? value / drawing->most : 0;

	if (value <= 0)
		return 0;
	return MIN(1 + (size_t)(part * (levels - 1)), levels - 1);
}

static void put_shade(const struct drawing *drawing, double value)
{
	if (drawing->terminal->unicode)
		put_repeated(drawing, shades[level(drawing, value, ARRAY_SIZE(shades))]);
	else
		put_repeated(drawing, letters[level(drawing, value, ARRAY_SIZE(letters))]);
}

static void put_halves(const struct drawing *drawing, double upper, double lower)
{
	int foreground = ramp[level(drawing, upper, ARRAY_SIZE(ramp))];
	int background = ramp[level(drawing, lower, ARRAY_SIZE(ramp))];
	const char *block = foreground >= 0 ? "\u2580" : " ";

	if (foreground < 0 && background >= 0) {
		block = "\u2584";
		foreground = background;
		background = -1;
	}
	terminal_colors(drawing->terminal, foreground, background, drawing->text);
	put_repeated(drawing, block);
}

static void put_colored(const struct drawing *drawing, double value)
{
	terminal_colors(drawing->terminal, -1, ramp[level(drawing, value, ARRAY_SIZE(ramp))],
		drawing->text);
	put_repeated(drawing, " ");
}

/* Rows are counted from the bottom; a line has its upper one, and one below it. */
static void put_fraction_cell(const struct drawing *drawing, uint32_t row, uint32_t column)
{
	double value = busy(drawing, row, column);

	if (is_unknown(drawing, row, column))
		put_unknown(drawing);
	else if (has_halves(drawing->terminal))
		put_halves(drawing, value, row ? busy(drawing, row - 1, column) : 0);
	else if (drawing->terminal->color)
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
			buffer_printf(drawing->text, "%*s", LABEL_WIDTH, "");
		for (uint32_t column = 0; column < drawing->heat->columns; column++)
			put_fraction_cell(drawing, row, column);
		terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
		end_line(drawing);
	}
}

static enum load_kind most_of(const struct load *load)
{
	enum load_kind most = LOAD_USER;

	for (int kind = LOAD_KERNEL; kind < LOAD_KINDS; kind++)
		if (load->ns[kind] > load->ns[most])
			most = kind;
	return most;
}

static void put_cpu_cell(const struct drawing *drawing, uint32_t cpu, uint32_t column)
{
	static const char *const eighths[] = { " ", "\u2581", "\u2582", "\u2583", "\u2584",
		"\u2585", "\u2586", "\u2587", "\u2588" };
	static const enum terminal_style styles[] = { STYLE_DIM, STYLE_USER, STYLE_KERNEL,
		STYLE_IRQ };
	static const char *const full[] = { "", "U", "K", "I" };
	double value = MIN(busy(drawing, cpu, column), 1);
	enum load_kind kind = most_of(heat_cell(drawing->heat, cpu, column));
	bool saturated = value >= SATURATED;

	if (is_unknown(drawing, cpu, column)) {
		put_unknown(drawing);
		return;
	}
	terminal_style(drawing->terminal, styles[kind], drawing->text);
	if (saturated && !drawing->terminal->color)
		put_repeated(drawing, full[kind]);
	else if (drawing->terminal->unicode)
		put_repeated(drawing, eighths[saturated	  ? 8
					      : value > 0 ? 1 + (int)(value * 7)
							  : 0]);
	else
		put_repeated(drawing,
			saturated ? "@" : letters[level(drawing, value, ARRAY_SIZE(letters) - 1)]);
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

struct cpu {
	uint32_t number;
	bool seen;
	double peak, sum;
};

static int by_peak(const void *a, const void *b)
{
	const struct cpu *left = a, *right = b;

	if (left->peak != right->peak)
		return left->peak < right->peak ? 1 : -1;
	if (left->sum != right->sum)
		return left->sum < right->sum ? 1 : -1;
	return left->number < right->number ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
	const struct cpu *left = a, *right = b;

	return left->number < right->number ? -1 : 1;
}

/* Those that were seen; how many. */
static size_t find_cpus(const struct drawing *drawing, struct cpu *cpus)
{
	size_t count = 0;

	for (uint32_t row = 0; row < drawing->heat->rows; row++) {
		struct cpu cpu = { .number = row };

		for (uint32_t column = 0; column < drawing->heat->columns; column++) {
			const struct load *cell = heat_cell(drawing->heat, row, column);
			double value = busy(drawing, row, column);

			cpu.seen |= cell->ns[LOAD_IDLE] || load_work_ns(cell);
			cpu.peak = MAX(cpu.peak, MIN(value, 1));
			cpu.sum += value;
		}
		if (cpu.seen)
			cpus[count++] = cpu;
	}
	return count;
}

static void put_cpus(const struct drawing *drawing)
{
	_cleanup_free_ struct cpu *cpus = calloc(MAX(drawing->heat->rows, 1u), sizeof(*cpus));
	size_t count = cpus ? find_cpus(drawing, cpus) : 0, shown = count;

	if (!cpus) {
		drawing->text->failed = true;
		return;
	}
	if (drawing->terminal->height && count > lines_for_rows(drawing->terminal)) {
		shown = lines_for_rows(drawing->terminal);
		qsort(cpus, count, sizeof(*cpus), by_peak);
		qsort(cpus, shown, sizeof(*cpus), by_number);
	}
	for (size_t i = 0; i < shown; i++) {
		buffer_printf(drawing->text, "%5u ", cpus[i].number);
		for (uint32_t column = 0; column < drawing->heat->columns; column++)
			put_cpu_cell(drawing, cpus[i].number, column);
		end_line(drawing);
	}
	if (shown < count)
		buffer_printf(drawing->text,
			"the busiest %zu of %zu CPUs; the others were never more than %.0f %% "
			"busy\n",
			shown, count, 100 * cpus[shown].peak);
}

static uint32_t column_of(const struct drawing *drawing, uint64_t time_ns)
{
	uint64_t begin_ns = drawing->heat->begin_ns;
	uint64_t column = time_ns > begin_ns ? (time_ns - begin_ns) / drawing->heat->column_ns : 0;

	return MIN(column, drawing->heat->columns - 1);
}

/* A line above the columns: v is an incident, * the moment that was asked for. */
static void put_marks(const struct drawing *drawing)
{
	const struct heat_picture *picture = drawing->picture;
	uint32_t next = 0;
	size_t mark = 0;

	if (!picture->mark_count && !picture->at_ns)
		return;
	buffer_printf(drawing->text, "%*s", LABEL_WIDTH, "");
	for (; next < drawing->heat->columns; next++) {
		bool incident = false,
		     asked = picture->at_ns && column_of(drawing, picture->at_ns) == next;

		for (; mark < picture->mark_count &&
			column_of(drawing, picture->marks[mark].time_ns) == next;
			mark++)
			incident = true;
		if (incident)
			terminal_style(drawing->terminal, STYLE_ALERT, drawing->text);
		buffer_text(drawing->text, incident ? drawing->terminal->unicode ? "\u25bc" : "v"
					   : asked  ? "*"
						    : " ");
		if (incident)
			terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
		if (drawing->cell_width > 1)
			buffer_printf(drawing->text, "%*s", (int)drawing->cell_width - 1, "");
	}
	end_line(drawing);
}

/* "03:12:07" of a column's begin; without seconds where columns are whole minutes, with the day where they are of several days. */
static void time_label(const struct drawing *drawing, uint32_t column, char label[16])
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

static void put_axis(const struct drawing *drawing)
{
	unsigned int width = drawing->heat->columns * drawing->cell_width, used = 0;
	char label[16];

	buffer_printf(drawing->text, "%*s", LABEL_WIDTH, "");
	for (uint32_t column = 0; column < drawing->heat->columns; column++) {
		unsigned int at = column * drawing->cell_width;

		if (at < used)
			continue;
		time_label(drawing, column, label);
		if (column && at + strlen(label) + 1 > width)
			break;
		buffer_printf(drawing->text, "%*s|%s", (int)(at - used), "", label);
		used = at + TICK_WIDTH;
		used = MAX(used, at + 1 + (unsigned)strlen(label) + 1);
		buffer_printf(drawing->text, "%*s", (int)(used - at - 1 - strlen(label)), "");
	}
	end_line(drawing);
}

static void put_listed_marks(const struct drawing *drawing)
{
	const struct heat_picture *picture = drawing->picture;

	for (size_t i = 0; i < MIN(picture->mark_count, (size_t)MARKS_SHOWN); i++) {
		char text[TIME_TEXT_SIZE];

		time_format(picture->marks[i].time_ns, picture->utc, 3, text);
		buffer_printf(drawing->text, "%s %.12s  ",
			drawing->terminal->unicode ? "\u25bc" : "v", text + 11);
		text_put_short(drawing->terminal, picture->marks[i].what,
			drawing->terminal->width > MARK_WIDTH
				? drawing->terminal->width - MARK_WIDTH
				: 1,
			drawing->text);
		buffer_u8(drawing->text, '\n');
	}
	if (picture->mark_count > MARKS_SHOWN)
		buffer_printf(drawing->text, "and %zu more\n", picture->mark_count - MARKS_SHOWN);
}

/* The columns that it takes. */
static unsigned int put_fraction_scale(const struct drawing *drawing)
{
	bool color = drawing->terminal->color;
	size_t levels = color			     ? ARRAY_SIZE(ramp)
			: drawing->terminal->unicode ? ARRAY_SIZE(shades)
						     : ARRAY_SIZE(letters);

	for (size_t i = 1; i < levels; i++) {
		if (color) {
			terminal_colors(drawing->terminal, -1, ramp[i], drawing->text);
			buffer_u8(drawing->text, ' ');
		} else {
			buffer_text(
				drawing->text, drawing->terminal->unicode ? shades[i] : letters[i]);
		}
	}
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
	buffer_u8(drawing->text, ' ');
	return levels;
}

static unsigned int put_cpu_scale(const struct drawing *drawing)
{
	static const char *const names[] = { "user", "kernel", "irq" };
	static const enum terminal_style styles[] = { STYLE_USER, STYLE_KERNEL, STYLE_IRQ };

	for (size_t i = 0; i < ARRAY_SIZE(names) && drawing->terminal->color; i++) {
		terminal_style(drawing->terminal, styles[i], drawing->text);
		buffer_printf(drawing->text, "%s ", names[i]);
	}
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
	return drawing->terminal->color ? strlen("user kernel irq ") : 0;
}

static void put_scale_text(const struct drawing *drawing, struct buffer *legend)
{
	uint64_t host_cpus = drawing->heat->host_cpus;

	if (drawing->heat->by == HEAT_CPUS) {
		buffer_text(
			legend, drawing->terminal->color
					? "by what most; a full cell is a CPU busy to 90 % or more"
					: "U, K, I: busy to 90 % or more, most of it user, kernel, "
					  "interrupts");
		return;
	}
	buffer_printf(legend, "0 to %.2f CPUs busy", drawing->most);
	if (host_cpus)
		buffer_printf(legend, " of %llu", (unsigned long long)host_cpus);
	buffer_printf(legend, "; a row is %.0f ms of each second", 1000.0 / drawing->heat->rows);
}

static void put_legend(const struct drawing *drawing)
{
	_cleanup_(buffer_done) struct buffer legend = { 0 };
	char length[32];

	unsigned int used = drawing->heat->by == HEAT_FRACTIONS ? put_fraction_scale(drawing)
								: put_cpu_scale(drawing);
	struct terminal beside = *drawing->terminal;

	beside.width -= MIN(used, beside.width - 1);
	put_scale_text(drawing, &legend);
	buffer_printf(&legend, "; a column is %s; idle is blank, %s was not recorded",
		duration_format(drawing->heat->column_ns, length, sizeof(length)),
		drawing->terminal->unicode ? "\u2573" : "x");
	buffer_u8(&legend, 0);
	if (buffer_failed(&legend))
		drawing->text->failed = true;
	else
		text_put_lines(&beside, (const char *)legend.data, drawing->text);
}

static double find_most(const struct drawing *drawing)
{
	double most = 0;

	for (uint32_t row = 0; row < drawing->heat->rows; row++)
		for (uint32_t column = 0; column < drawing->heat->columns; column++)
			most = MAX(most, busy(drawing, row, column));
	return most;
}

void heat_draw(
	const struct heat_picture *picture, const struct terminal *terminal, struct buffer *text)
{
	struct drawing drawing = {
		.picture = picture,
		.heat = picture->heat,
		.terminal = terminal,
		.text = text,
		.cell_width = heat_columns_max(terminal) / picture->heat->columns,
	};

	drawing.cell_width = MAX(MIN(drawing.cell_width, CELL_WIDTH_MAX), 1u);
	drawing.most = picture->heat->by == HEAT_CPUS ? SATURATED : find_most(&drawing);
	text_put_lines(terminal, picture->head, text);
	put_marks(&drawing);
	if (picture->heat->by == HEAT_CPUS)
		put_cpus(&drawing);
	else
		put_fractions(&drawing);
	put_axis(&drawing);
	put_listed_marks(&drawing);
	put_legend(&drawing);
}
