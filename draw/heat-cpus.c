// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cell in a row of several CPUs shows the busiest of these CPUs, not their mean. One saturated
 * CPU among hundreds therefore stays a solid line.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "draw/heat-drawing.h"
#include "draw/lines.h"
#include "draw/text.h"

#define LABEL_SIZE 24
#define SATURATED_SHOWN 6

static bool heat_cpus_was_seen(const struct heat *heat, uint32_t cpu)
{
	for (uint32_t column = 0; column < heat->columns; column++) {
		const struct stack_class *cell = heat_cell(heat, cpu, column);

		if (cell->ns[STACK_CLASS_IDLE] || stack_class_work_ns(cell))
			return true;
	}
	return false;
}

static enum stack_class_kind dominant_kind(const struct stack_class *class)
{
	enum stack_class_kind most = STACK_CLASS_USER;

	for (int kind = STACK_CLASS_KERNEL; kind < STACK_CLASS_KINDS; kind++)
		if (class->ns[kind] > class->ns[most])
			most = kind;
	return most;
}

/* Returns how many eighths of a line of a row are filled. Rows grow from their lowest line, 0. */
static int heat_cpus_eighths(const struct drawing *drawing, double value, unsigned int line)
{
	int steps = 8 * drawing->cpus.row_lines;
	int filled = value >= HEAT_SATURATED ? steps
		     : value > 0	     ? 1 + (int)(value * (steps - 1))
					     : 0;

	return MAX(0, MIN(8, filled - 8 * (int)line));
}

static void put_cpu_cell(const struct drawing *drawing, enum stack_class_kind kind, double value,
			 unsigned int line)
{
	static const char *const eighths[] = { " ",	 "\u2581", "\u2582", "\u2583", "\u2584",
					       "\u2585", "\u2586", "\u2587", "\u2588" };
	static const enum terminal_style styles[] = { STYLE_DIM, STYLE_USER, STYLE_KERNEL,
						      STYLE_IRQ };
	static const char *const full[] = { "", "U", "K", "I" };
	bool saturated = value >= HEAT_SATURATED;
	int eighths_filled = heat_cpus_eighths(drawing, value, line);

	terminal_style(drawing->terminal, styles[kind], drawing->text);
	if (saturated && !drawing->terminal->color)
		drawing_put_cell(drawing, full[kind]);
	else if (drawing->terminal->unicode)
		drawing_put_cell(drawing, eighths[eighths_filled]);
	else
		drawing_put_cell(drawing, saturated ? "@" : heat_letters[eighths_filled]);
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

/* Puts the cell of the busiest CPU in the row. Considers only CPUs whose cell was recorded. */
static void put_row_cell(const struct drawing *drawing, const uint32_t *cpus, size_t count,
			 uint32_t column, unsigned int line)
{
	const struct heat *heat = drawing->heat;
	uint32_t busiest = cpus[0];
	bool known = false;
	double most = 0;

	for (size_t i = 0; i < count; i++) {
		double value = heat_busy(heat, cpus[i], column);

		known |= !heat_is_unknown(heat, cpus[i], column);
		if (value > most) {
			most = value;
			busiest = cpus[i];
		}
	}
	if (known)
		put_cpu_cell(drawing, dominant_kind(heat_cell(heat, busiest, column)), most, line);
	else
		drawing_put_unknown(drawing);
}

/*
 * Puts a label such as "39" or "32-63". If the label is too narrow, puts "1024..", and the next
 * row's label shows where the row ends.
 */
static void heat_cpus_put_label(const struct drawing *drawing, const uint32_t *cpus, size_t count)
{
	unsigned int room = drawing->label_width - 1;
	char label[LABEL_SIZE];

	if (count == 1)
		snprintf(label, sizeof(label), "%u", cpus[0]);
	else if (snprintf(label, sizeof(label), "%u-%u", cpus[0], cpus[count - 1]) > (int)room)
		snprintf(label, sizeof(label), "%u..", cpus[0]);
	buffer_printf(drawing->text, "%*s ", (int)room, label);
}

static void heat_cpus_put_row(const struct drawing *drawing, const uint32_t *cpus, size_t count)
{
	for (unsigned int line = drawing->cpus.row_lines; line-- > 0;) {
		if (line)
			buffer_printf(drawing->text, "%*s", (int)drawing->label_width, "");
		else
			heat_cpus_put_label(drawing, cpus, count);
		for (uint32_t column = 0; column < drawing->heat->columns; column++)
			put_row_cell(drawing, cpus, count, column, line);
		drawing_end_line(drawing);
	}
}

static uint32_t saturated_columns(const struct heat *heat, uint32_t cpu)
{
	uint32_t count = 0;

	for (uint32_t column = 0; column < heat->columns; column++)
		count += heat_busy(heat, cpu, column) >= HEAT_SATURATED;
	return count;
}

struct saturated {
	uint32_t cpu, columns;
};

static int compare_columns(const void *a, const void *b)
{
	const struct saturated *left = a, *right = b;

	if (left->columns != right->columns)
		return left->columns < right->columns ? 1 : -1;
	return left->cpu < right->cpu ? -1 : 1;
}

static size_t find_saturated(const struct heat *heat, const struct drawing_cpus *cpus,
			     struct saturated *saturated)
{
	size_t count = 0;

	for (size_t i = 0; i < cpus->count; i++) {
		uint32_t columns = saturated_columns(heat, cpus->numbers[i]);

		if (columns)
			saturated[count++] = (struct saturated){ cpus->numbers[i], columns };
	}
	qsort(saturated, count, sizeof(*saturated), compare_columns);
	return count;
}

void drawing_put_cpu_note(const struct drawing *drawing)
{
	const struct drawing_cpus *cpus = &drawing->cpus;
	_cleanup_free_ struct saturated *saturated = calloc(cpus->count, sizeof(*saturated));
	_cleanup_(buffer_done) struct buffer note = { 0 };
	size_t count = saturated ? find_saturated(drawing->heat, cpus, saturated) : 0;

	buffer_printf(&note, "a row is %zu CPUs and shows the busiest of them; ", cpus->each);
	buffer_text(&note, count ? "full columns: CPU " : "no CPU was full");
	for (size_t i = 0; i < MIN(count, (size_t)SATURATED_SHOWN); i++)
		buffer_printf(&note, "%s%u: %u", i ? ", " : "", saturated[i].cpu,
			      saturated[i].columns);
	if (count > SATURATED_SHOWN)
		buffer_printf(&note, " and %zu more CPUs", count - SATURATED_SHOWN);
	buffer_u8(&note, 0);
	if (!saturated || buffer_failed(&note))
		drawing->text->failed = true;
	else
		lines_put(drawing->terminal, (struct lines_shape){ 0 }, (const char *)note.data,
			  drawing->text);
}

int drawing_find_cpus(const struct heat *heat, struct drawing_cpus *cpus)
{
	*cpus = (struct drawing_cpus){ .each = 1, .row_lines = 1 };
	cpus->numbers = calloc(MAX(heat->rows, 1u), sizeof(*cpus->numbers));
	if (!cpus->numbers)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < heat->rows; cpu++)
		if (heat_cpus_was_seen(heat, cpu))
			cpus->numbers[cpus->count++] = cpu;
	return 0;
}

/*
 * Returns the number of CPUs in a row. Prefers a power of two, because hosts mostly have such a
 * number of CPUs. If more than a quarter of the lines would then be unused, takes any number.
 */
size_t drawing_cpus_of_row(size_t count, size_t lines)
{
	size_t each = (count + lines - 1) / lines, power = 1;

	while (power < each)
		power *= 2;
	return (count + power - 1) / power * 4 >= lines * 3 ? power : each;
}

void drawing_put_cpus(const struct drawing *drawing)
{
	const struct drawing_cpus *cpus = &drawing->cpus;

	for (size_t i = 0; i < cpus->count; i += cpus->each)
		heat_cpus_put_row(drawing, cpus->numbers + i, MIN(cpus->each, cpus->count - i));
}
