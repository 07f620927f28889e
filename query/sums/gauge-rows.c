// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/gauge-rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* The weight of a reading without a length, in seconds. */
#define MOMENT_S 1e-9

static void row_done(struct gauge_rows_row *row)
{
	free(row->name);
	free(row->cells);
	free(row->weights);
}

void gauge_rows_done(struct gauge_rows *gauges)
{
	for (size_t i = 0; i < gauges->rows.count; i++)
		row_done(&gauges->rows.items[i]);
	array_done(&gauges->rows);
	array_done(&gauges->row_of);
	array_done(&gauges->group_of);
	strings_done(&gauges->kinds);
}

/* Returns the rest of "cpu39/user_ms" from the slash on; NULL for other names. */
static const char *kind_of(const char *name)
{
	const char *at = name + strlen("cpu");

	if (strncmp(name, "cpu", strlen("cpu")) != 0 || !isdigit((unsigned char)*at))
		return NULL;
	while (isdigit((unsigned char)*at))
		at++;
	return *at == '/' ? at : NULL;
}

static int gauge_rows_add_row(struct gauge_rows *gauges, const char *name,
			      struct gauge_rows_row row)
{
	int r = -ENOMEM;

	row.limit = series_max(name);
	row.least = INFINITY;
	row.most = -INFINITY;
	row.name = strndup(name, strlen(name) - series_suffix(name));
	row.cells = calloc(gauges->cells, sizeof(*row.cells));
	row.weights = calloc(gauges->cells, sizeof(*row.weights));
	if (row.name && row.cells && row.weights)
		r = array_push(&gauges->rows, row);
	if (r < 0)
		row_done(&row);
	return r;
}

/* Finds or adds the common row of all CPUs for one kind of gauge, such as "/user_ms". */
static int gauge_rows_find_group(struct gauge_rows *gauges, const char *kind, enum series_unit unit,
				 double limit, struct gauge_rows_row **ret_row)
{
	uint32_t id;
	char name[64];
	int r = strings_add(&gauges->kinds, kind, strlen(kind), &id);

	while (r == 0 && gauges->group_of.count <= id)
		r = array_push(&gauges->group_of, 0);
	if (r < 0)
		return r;
	if (!gauges->group_of.items[id]) {
		snprintf(name, sizeof(name), "cpu*%s", kind);
		r = gauge_rows_add_row(gauges, name,
				       (struct gauge_rows_row){ .unit = unit, .of_all = true });
		if (r < 0)
			return r;
		gauges->rows.items[gauges->rows.count - 1].limit = limit;
		gauges->group_of.items[id] = gauges->rows.count;
	}
	*ret_row = &gauges->rows.items[gauges->group_of.items[id] - 1];
	return 0;
}

static int gauge_rows_find_row(struct gauge_rows *gauges, const struct series_step *step,
			       bool of_cpu, struct gauge_rows_row **ret_row)
{
	int r = 0;

	while (r == 0 && gauges->row_of.count <= step->series)
		r = array_push(&gauges->row_of, 0);
	if (r < 0)
		return r;
	if (!gauges->row_of.items[step->series]) {
		r = gauge_rows_add_row(
			gauges, step->name,
			(struct gauge_rows_row){ .unit = step->unit, .of_cpu = of_cpu });
		gauges->row_of.items[step->series] = gauges->rows.count;
	}
	if (r < 0)
		return r;
	*ret_row = &gauges->rows.items[gauges->row_of.items[step->series] - 1];
	return r;
}

/* The time of a step within the window, in seconds from the window's begin. */
struct part {
	double from_s, to_s;
};

static struct part part_within(const struct window *window, const struct series_step *step)
{
	uint64_t from_ns = MIN(MAX(step->from_ns, window->from_ns), window->to_ns);
	uint64_t to_ns = MIN(MAX(step->to_ns, from_ns), window->to_ns);

	return (struct part){ (double)(from_ns - window->from_ns) / NSEC_PER_SEC,
			      (double)(to_ns - window->from_ns) / NSEC_PER_SEC };
}

/* Distributes a figure over the cells. Its time may span several cells, or lie within one. */
static void add_to_cells(const struct gauge_rows *gauges, struct gauge_rows_row *row,
			 const struct part *part, double figure)
{
	const struct window *window = &gauges->window;
	double cell_s = (double)(window->to_ns - window->from_ns) / NSEC_PER_SEC / gauges->cells;

	for (unsigned int i = part->from_s / cell_s; i < gauges->cells && i * cell_s <= part->to_s;
	     i++) {
		double part_s = MIN((i + 1) * cell_s, part->to_s) - MAX(i * cell_s, part->from_s);

		part_s = MAX(part_s, MOMENT_S);
		row->cells[i] += figure * part_s;
		row->weights[i] += part_s;
	}
}

static void add_figure(const struct gauge_rows *gauges, struct gauge_rows_row *row,
		       const struct part *part, double figure)
{
	double length_s = MAX(part->to_s - part->from_s, MOMENT_S);

	row->least = MIN(row->least, figure);
	row->most = MAX(row->most, figure);
	row->mean += figure * length_s;
	row->weight_s += length_s;
	add_to_cells(gauges, row, part, figure);
}

/*
 * Adds a level. A level keeps its previous value up to this reading, and has the new value at this
 * reading.
 */
static void add_level(const struct gauge_rows *gauges, struct gauge_rows_row *row,
		      const struct series_step *step)
{
	const struct window *window = &gauges->window;
	struct part part = part_within(window, step);

	if (step->from_ns < step->to_ns && part.from_s < part.to_s)
		add_figure(gauges, row, &part, step->held);
	part.from_s = part.to_s;
	if (step->to_ns >= window->from_ns && step->to_ns < window->to_ns)
		add_figure(gauges, row, &part, step->figure);
	row->figure = step->figure;
	row->read_ns = step->to_ns;
	row->every_ns = step->to_ns - step->from_ns;
}

/* Extends the last level by the interval of its last two readings if no later reading exists. */
static void extend_last(const struct gauge_rows *gauges, struct gauge_rows_row *row)
{
	struct series_step step = { .from_ns = row->read_ns,
				    .to_ns = row->read_ns + row->every_ns };
	struct part part = part_within(&gauges->window, &step);

	if (series_is_level(row->unit) && row->every_ns && part.from_s < part.to_s)
		add_figure(gauges, row, &part, row->figure);
}

static void add_to_row(const struct gauge_rows *gauges, struct gauge_rows_row *row,
		       const struct series_step *step)
{
	struct part part = part_within(&gauges->window, step);

	if (step->unit == SERIES_COUNT && part.from_s == part.to_s)
		return;
	if (step->unit == SERIES_COUNT)
		row->times += step->figure;
	if (series_is_level(step->unit))
		add_level(gauges, row, step);
	else
		add_figure(gauges, row, &part, step->figure);
}

int gauge_rows_add(struct gauge_rows *gauges, const struct series_step *step)
{
	const char *kind = kind_of(step->name);
	struct gauge_rows_row *row;
	int r = gauge_rows_find_row(gauges, step, kind != NULL, &row);

	if (r < 0)
		return r;
	add_to_row(gauges, row, step);
	if (r < 0 || !kind)
		return r;
	gauges->cpus = MAX(gauges->cpus, strtoull(step->name + strlen("cpu"), NULL, 10) + 1);
	r = gauge_rows_find_group(gauges, kind, step->unit, series_max(step->name), &row);
	if (r < 0)
		return r;
	add_to_row(gauges, row, step);
	return r;
}

static int gauge_rows_compare_rows(const void *a, const void *b)
{
	return strverscmp(((const struct gauge_rows_row *)a)->name,
			  ((const struct gauge_rows_row *)b)->name);
}

void gauge_rows_finish(struct gauge_rows *gauges)
{
	for (size_t i = 0; i < gauges->rows.count; i++) {
		struct gauge_rows_row *row = &gauges->rows.items[i];

		extend_last(gauges, row);
		row->least = MIN(row->least, row->limit);
		row->mean = row->weight_s > 0 ? MIN(row->mean / row->weight_s, row->limit) : NAN;
		row->most = MIN(row->most, row->limit);
		for (unsigned int at = 0; at < gauges->cells; at++)
			row->cells[at] =
				row->weights[at] > 0 ? row->cells[at] / row->weights[at] : NAN;
	}
	if (gauges->rows.count)
		qsort(gauges->rows.items, gauges->rows.count, sizeof(*gauges->rows.items),
		      gauge_rows_compare_rows);
}
