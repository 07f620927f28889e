// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/gauge-rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* A reading of which no length is known is of its moment. */
#define MOMENT_S 1e-9

static void row_done(struct gauge_rows_row *row)
{
	free(row->name);
	free(row->cells);
	free(row->weights);
}

void gauge_rows_done(struct gauge_rows *figures)
{
	for (size_t i = 0; i < figures->rows.count; i++)
		row_done(&figures->rows.items[i]);
	array_done(&figures->rows);
	array_done(&figures->row_of);
	array_done(&figures->group_of);
	strings_done(&figures->kinds);
}

/* "cpu39/user_ms": what stands behind the CPU; NULL for others. */
static const char *behind_cpu(const char *name)
{
	const char *at = name + strlen("cpu");

	if (strncmp(name, "cpu", strlen("cpu")) != 0 || !isdigit((unsigned char)*at))
		return NULL;
	while (isdigit((unsigned char)*at))
		at++;
	return *at == '/' ? at : NULL;
}

static int gauge_rows_add_row(struct gauge_rows *figures, const char *name,
			      struct gauge_rows_row row)
{
	int r = -ENOMEM;

	row.limit = series_most(name);
	row.least = INFINITY;
	row.most = -INFINITY;
	row.name = strndup(name, strlen(name) - series_suffix(name));
	row.cells = calloc(figures->cells, sizeof(*row.cells));
	row.weights = calloc(figures->cells, sizeof(*row.weights));
	if (row.name && row.cells && row.weights)
		r = array_push(&figures->rows, row);
	if (r < 0)
		row_done(&row);
	return r;
}

/* The row of all CPUs' figures of that kind. */
static int gauge_rows_find_group(struct gauge_rows *figures, const char *kind,
				 enum series_unit unit, double limit,
				 struct gauge_rows_row **ret_row)
{
	uint32_t id;
	char name[64];
	int r = strings_add(&figures->kinds, kind, strlen(kind), &id);

	while (r == 0 && figures->group_of.count <= id)
		r = array_push(&figures->group_of, 0);
	if (r == 0 && !figures->group_of.items[id]) {
		snprintf(name, sizeof(name), "cpu*%s", kind);
		r = gauge_rows_add_row(figures, name,
				       (struct gauge_rows_row){ .unit = unit, .of_all = true });
		if (r == 0)
			figures->rows.items[figures->rows.count - 1].limit = limit;
		figures->group_of.items[id] = figures->rows.count;
	}
	if (r == 0)
		*ret_row = &figures->rows.items[figures->group_of.items[id] - 1];
	return r;
}

static int gauge_rows_find_row(struct gauge_rows *figures, const struct series_step *step,
			       bool of_cpu, struct gauge_rows_row **ret_row)
{
	int r = 0;

	while (r == 0 && figures->row_of.count <= step->series)
		r = array_push(&figures->row_of, 0);
	if (r == 0 && !figures->row_of.items[step->series]) {
		r = gauge_rows_add_row(
			figures, step->name,
			(struct gauge_rows_row){ .unit = step->unit, .of_cpu = of_cpu });
		figures->row_of.items[step->series] = figures->rows.count;
	}
	if (r == 0)
		*ret_row = &figures->rows.items[figures->row_of.items[step->series] - 1];
	return r;
}

/* What of a step lies in the window, in seconds from its begin. */
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

/* It lies over one or more cells, or a part of one. */
static void add_to_cells(const struct gauge_rows *figures, struct gauge_rows_row *row,
			 const struct part *part, double figure)
{
	const struct window *window = &figures->window;
	double cell_s = (double)(window->to_ns - window->from_ns) / NSEC_PER_SEC / figures->cells;

	for (unsigned int i = part->from_s / cell_s; i < figures->cells && i * cell_s <= part->to_s;
	     i++) {
		double part_s = MIN((i + 1) * cell_s, part->to_s) - MAX(i * cell_s, part->from_s);

		part_s = MAX(part_s, MOMENT_S);
		row->cells[i] += figure * part_s;
		row->weights[i] += part_s;
	}
}

static void add_figure(const struct gauge_rows *figures, struct gauge_rows_row *row,
		       const struct part *part, double figure)
{
	double length_s = MAX(part->to_s - part->from_s, MOMENT_S);

	row->least = MIN(row->least, figure);
	row->most = MAX(row->most, figure);
	row->mean += figure * length_s;
	row->weight_s += length_s;
	add_to_cells(figures, row, part, figure);
}

/* A level is what it was read as until it is read again: it did not become so before. */
static void add_level(const struct gauge_rows *figures, struct gauge_rows_row *row,
		      const struct series_step *step)
{
	const struct window *window = &figures->window;
	struct part part = part_within(window, step);

	if (step->from_ns < step->to_ns && part.from_s < part.to_s)
		add_figure(figures, row, &part, step->held);
	part.from_s = part.to_s;
	if (step->to_ns >= window->from_ns && step->to_ns < window->to_ns)
		add_figure(figures, row, &part, step->figure);
	row->figure = step->figure;
	row->read_ns = step->to_ns;
	row->every_ns = step->to_ns - step->from_ns;
}

/* The last one is held for as long as it was until it was read, if nothing is known of what came
 * then. */
static void hold_last(const struct gauge_rows *figures, struct gauge_rows_row *row)
{
	struct series_step step = { .from_ns = row->read_ns,
				    .to_ns = row->read_ns + row->every_ns };
	struct part part = part_within(&figures->window, &step);

	if (series_is_level(row->unit) && row->every_ns && part.from_s < part.to_s)
		add_figure(figures, row, &part, row->figure);
}

static void add_to_row(const struct gauge_rows *figures, struct gauge_rows_row *row,
		       const struct series_step *step)
{
	struct part part = part_within(&figures->window, step);

	if (step->unit == SERIES_COUNT && part.from_s == part.to_s)
		return;
	if (step->unit == SERIES_COUNT)
		row->times += step->figure;
	if (series_is_level(step->unit))
		add_level(figures, row, step);
	else
		add_figure(figures, row, &part, step->figure);
}

int gauge_rows_add(struct gauge_rows *figures, const struct series_step *step)
{
	const char *kind = behind_cpu(step->name);
	struct gauge_rows_row *row;
	int r = gauge_rows_find_row(figures, step, kind != NULL, &row);

	if (r == 0)
		add_to_row(figures, row, step);
	if (r < 0 || !kind)
		return r;
	figures->cpus = MAX(figures->cpus, strtoull(step->name + strlen("cpu"), NULL, 10) + 1);
	r = gauge_rows_find_group(figures, kind, step->unit, series_most(step->name), &row);
	if (r == 0)
		add_to_row(figures, row, step);
	return r;
}

static int gauge_rows_compare_rows(const void *a, const void *b)
{
	return strverscmp(((const struct gauge_rows_row *)a)->name,
			  ((const struct gauge_rows_row *)b)->name);
}

void gauge_rows_finish(struct gauge_rows *figures)
{
	for (size_t i = 0; i < figures->rows.count; i++) {
		struct gauge_rows_row *row = &figures->rows.items[i];

		hold_last(figures, row);
		row->least = MIN(row->least, row->limit);
		row->mean = row->weight_s > 0 ? MIN(row->mean / row->weight_s, row->limit) : NAN;
		row->most = MIN(row->most, row->limit);
		for (unsigned int at = 0; at < figures->cells; at++)
			row->cells[at] =
				row->weights[at] > 0 ? row->cells[at] / row->weights[at] : NAN;
	}
	if (figures->rows.count)
		qsort(figures->rows.items, figures->rows.count, sizeof(*figures->rows.items),
		      gauge_rows_compare_rows);
}
