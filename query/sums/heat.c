// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/heat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/read/weights.h"
#include "tape/digest.h"
#include "tape/spread.h"

/*
 * A cell counts as unknown if less than this time of it was recorded, because perhaps no sample was
 * due in this time.
 */
#define SLIVER_NS NSEC_PER_MSEC

/*
 * Returns the begin of the grid. Long columns begin at whole minutes, or at whole 10 s. So do the
 * intervals of digests, and an interval that lies in two columns costs the samples of a segment.
 */
static uint64_t heat_begin_of(const struct window *window, uint64_t column_ns)
{
	uint64_t step_ns = column_ns >= 120 * NSEC_PER_SEC  ? 60 * NSEC_PER_SEC
			   : column_ns >= 30 * NSEC_PER_SEC ? 10 * NSEC_PER_SEC
							    : NSEC_PER_SEC;

	return window->from_ns / step_ns * step_ns;
}

static uint32_t columns_of(const struct window *window, uint64_t column_ns)
{
	uint64_t begin_ns = heat_begin_of(window, column_ns);

	return MAX((window->to_ns - begin_ns + column_ns - 1) / column_ns, 1ull);
}

uint64_t heat_column_ns(const struct window *window, uint32_t columns_max)
{
	static const uint32_t lengths[] = { 1,	  2,	 5,	10,    15,   20,   30,
					    60,	  120,	 300,	600,   900,  1800, 3600,
					    7200, 14400, 21600, 43200, 86400 };
	uint64_t column_ns;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		column_ns = lengths[i] * NSEC_PER_SEC;
		if (columns_of(window, column_ns) <= columns_max)
			return column_ns;
	}
	while (columns_of(window, column_ns) > columns_max)
		column_ns += 86400 * NSEC_PER_SEC;
	return column_ns;
}

/* Adds zeroed rows up to this row number. */
static int heat_add_rows(struct heat *heat, uint32_t rows)
{
	size_t count = (size_t)rows * heat->columns;

	if (count <= heat->cells.count)
		return 0;
	if (array_reserve(&heat->cells, count) < 0)
		return -ENOMEM;
	memset(heat->cells.items + heat->cells.count, 0,
	       (count - heat->cells.count) * sizeof(*heat->cells.items));
	heat->cells.count = count;
	heat->rows = rows;
	return 0;
}

int heat_new(enum heat_rows by, const struct window *window, uint64_t column_ns, uint32_t rows,
	     struct heat **ret_heat)
{
	_cleanup_(cleanup_heat) struct heat *heat = calloc(1, sizeof(*heat));

	if (!heat)
		return -ENOMEM;
	heat->by = by;
	heat->begin_ns = heat_begin_of(window, column_ns);
	heat->column_ns = column_ns;
	heat->columns = columns_of(window, column_ns);
	if (by == HEAT_FRACTIONS && heat_add_rows(heat, rows) < 0)
		return -ENOMEM;
	*ret_heat = take_ptr(heat);
	return 0;
}

struct heat *heat_free(struct heat *heat)
{
	if (!heat)
		return NULL;
	array_done(&heat->cells);
	array_done(&heat->asked_ns);
	array_done(&heat->covered_ns);
	stack_class_marks_done(&heat->marks);
	free(heat);
	return NULL;
}

/*
 * Distributes a stretch of time over the fractions of a second. Time outside of the grid is
 * ignored.
 */
static void heat_spread(struct heat *heat, struct spread_span span, enum stack_class_kind kind)
{
	uint64_t begin_us = heat->begin_ns / 1000;

	for (uint64_t us = MAX(span.from_us, begin_us); us < span.to_us;) {
		struct spread_piece piece = spread_first(us, span.to_us, heat->rows);
		uint64_t column = (us - begin_us) / (heat->column_ns / 1000);

		if (column >= heat->columns)
			return;
		heat->cells.items[piece.fraction * heat->columns + column].ns[kind] +=
			1000 * (piece.to_us - piece.from_us);
		us = piece.to_us;
	}
}

static int heat_add_sample(struct heat *heat, const struct tape_sample *sample, uint64_t time_ns,
			   uint64_t sample_ns, enum stack_class_kind kind)
{
	uint32_t column = (time_ns - heat->begin_ns) / heat->column_ns;

	if (heat->by == HEAT_FRACTIONS) {
		heat_spread(heat, spread_span(time_ns, sample_ns), kind);
		return 0;
	}
	if (sample->cpu >= TAPE_CPUS_MAX)
		return 0;
	if (heat_add_rows(heat, sample->cpu + 1) < 0)
		return -ENOMEM;
	heat->cells.items[(size_t)sample->cpu * heat->columns + column].ns[kind] += sample_ns;
	return 0;
}

static enum stack_class_kind heat_kind_of(const struct heat *heat, const struct tape *tape,
					  const struct window_filter_times *times, size_t number)
{
	const struct tape_sample *sample = &tape->samples.items[number];
	const struct tape_thread *thread = &tape->threads.items[sample->thread];
	bool idle = thread->pid == 0 && thread->tid == 0;
	enum stack_class_kind kind =
		times->kinds ? times->kinds[number]
			     : stack_class_kind(&heat->marks, idle, sample->stack, sample->frame);

	return heat->left_out & 1u << kind ? STACK_CLASS_IDLE : kind;
}

int heat_add(struct heat *heat, const struct tape *tape, const struct window_filter_times *times,
	     uint64_t sample_ns)
{
	_cleanup_(weights_done) struct weights weights = { 0 };
	int r = stack_class_marks_make(&heat->marks, tape);

	if (r < 0)
		return r;
	r = weights_make(&weights, tape, sample_ns);
	if (r < 0)
		return r;
	heat->host_cpus = MAX(heat->host_cpus, stack_class_host_cpus(tape));
	for (size_t i = 0; r == 0 && i < tape->samples.count; i++)
		r = heat_add_sample(heat, &tape->samples.items[i], times->list.items[i],
				    weights_of(&weights, &tape->samples.items[i]),
				    heat_kind_of(heat, tape, times, i));
	return r;
}

/*
 * Returns the stack class to which a number of a stored picture belongs. A class that the user left
 * out counts as idle.
 */
static enum stack_class_kind heat_kind_of_part(const struct heat *heat, unsigned int part)
{
	enum stack_class_kind kind = STACK_CLASS_USER + part;

	return heat->left_out & 1u << kind ? STACK_CLASS_IDLE : kind;
}

/* Adds a row of stored fractions to a column of the grid, if the column exists. */
static void heat_add_fractions(struct heat *heat, const uint64_t *numbers, uint32_t first,
			       uint32_t count, uint64_t time_ns)
{
	uint64_t column = (time_ns - heat->begin_ns) / heat->column_ns;

	if (time_ns < heat->begin_ns || column >= heat->columns)
		return;
	for (uint32_t i = 0; i < count; i++)
		for (unsigned int part = 0; part < SPREAD_PARTS; part++)
			heat->cells.items[(first + i) * (size_t)heat->columns + column]
				.ns[heat_kind_of_part(heat, part)] +=
				1000 * numbers[i * SPREAD_PARTS + part];
}

/*
 * Adds the fractions of an interval. A sample near the begin or the end of the interval reaches
 * into the second beside it.
 */
static void heat_add_spread(struct heat *heat, const struct digest *digest, size_t interval)
{
	uint64_t begin_ns = digest->intervals.items[interval] * digest->interval_ns;
	uint32_t spill = digest->spill;
	const uint64_t *numbers =
		digest->spread.items + interval * (SPREAD_FRACTIONS + 2 * spill) * SPREAD_PARTS;

	heat_add_fractions(heat, numbers, SPREAD_FRACTIONS - spill, spill, begin_ns - 1);
	numbers += spill * SPREAD_PARTS;
	heat_add_fractions(heat, numbers, 0, SPREAD_FRACTIONS, begin_ns);
	numbers += SPREAD_FRACTIONS * SPREAD_PARTS;
	heat_add_fractions(heat, numbers, 0, spill, begin_ns + digest->interval_ns);
}

static void heat_add_cells(struct heat *heat, const struct digest *digest, size_t interval,
			   uint64_t sample_ns)
{
	uint64_t begin_ns = digest->intervals.items[interval] * digest->interval_ns;
	uint32_t column = (begin_ns - heat->begin_ns) / heat->column_ns;
	size_t cpus = digest->cpus.count;

	for (size_t i = 0; i < cpus; i++) {
		const struct digest_cell *cell = &digest->cells.items[interval * cpus + i];
		uint64_t *ns =
			heat->cells.items[(size_t)digest->cpus.items[i] * heat->columns + column]
				.ns;

		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
			ns[heat->left_out & 1u << kind ? STACK_CLASS_IDLE : kind] +=
				sample_ns * cell->n[kind];
	}
}

static bool heat_is_in_column(const struct heat *heat, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t end_of_grid_ns = heat->begin_ns + heat->columns * heat->column_ns;

	return begin_ns >= heat->begin_ns && end_ns <= end_of_grid_ns &&
	       (begin_ns - heat->begin_ns) / heat->column_ns ==
		       (end_ns - 1 - heat->begin_ns) / heat->column_ns;
}

/* Returns the number of intervals that lie in several columns. */
static size_t heat_straddling(const struct heat *heat, const struct digest *digest)
{
	size_t count = 0;

	for (size_t i = 0; i < digest->intervals.count; i++) {
		uint64_t begin_ns = digest->intervals.items[i] * digest->interval_ns;

		count += !heat_is_in_column(heat, begin_ns, begin_ns + digest->interval_ns);
	}
	return count;
}

int heat_add_digest(struct heat *heat, const struct tape *tape, uint64_t sample_ns,
		    struct scan_rest *rest)
{
	const struct digest *digest = tape->digest;
	size_t cpus = digest->cpus.count;

	if (heat->by == HEAT_FRACTIONS && (heat->rows != SPREAD_FRACTIONS || !digest->spill))
		return 1;
	if (heat_straddling(heat, digest) > digest->intervals.count / 2)
		return 1;
	if (heat->by == HEAT_CPUS && cpus &&
	    heat_add_rows(heat, digest->cpus.items[cpus - 1] + 1) < 0)
		return -ENOMEM;
	heat->host_cpus = MAX(heat->host_cpus, stack_class_host_cpus(tape));
	for (size_t i = 0; i < digest->intervals.count; i++) {
		uint64_t begin_ns = digest->intervals.items[i] * digest->interval_ns;
		struct window interval = { .from_ns = begin_ns,
					   .to_ns = begin_ns + digest->interval_ns };

		if (!heat_is_in_column(heat, interval.from_ns, interval.to_ns)) {
			if (array_push(&rest->list, interval) < 0)
				return -ENOMEM;
		} else if (heat->by == HEAT_FRACTIONS) {
			heat_add_spread(heat, digest, i);
		} else {
			heat_add_cells(heat, digest, i, sample_ns);
		}
	}
	return 0;
}

int heat_merge(struct heat *heat, const struct heat *other)
{
	if (heat_add_rows(heat, other->rows) < 0)
		return -ENOMEM;
	heat->host_cpus = MAX(heat->host_cpus, other->host_cpus);
	for (size_t i = 0; i < other->cells.count; i++)
		stack_class_add(&heat->cells.items[i], &other->cells.items[i]);
	return 0;
}

/*
 * Returns how much of the time from 0 to `ns` lies in the fraction of a second that the row stands
 * for.
 */
static uint64_t time_in_row_ns(const struct heat *heat, uint32_t row, uint64_t ns)
{
	uint64_t start_ns = row * NSEC_PER_SEC / heat->rows;
	uint64_t end_ns = (row + 1) * NSEC_PER_SEC / heat->rows, in_second_ns = ns % NSEC_PER_SEC;

	return ns / NSEC_PER_SEC * (end_ns - start_ns) +
	       (in_second_ns > start_ns ? MIN(in_second_ns, end_ns) - start_ns : 0);
}

/* Adds a stretch of time within one column. */
static void count_piece(const struct heat *heat, int64_t *counts, const struct cpu_set_filter *cpus,
			uint64_t from_ns, uint64_t to_ns, int sign)
{
	uint32_t column = (from_ns - heat->begin_ns) / heat->column_ns;

	for (uint32_t row = 0; row < heat->rows; row++) {
		int64_t ns = to_ns - from_ns;

		if (heat->by == HEAT_FRACTIONS)
			ns = time_in_row_ns(heat, row, to_ns) - time_in_row_ns(heat, row, from_ns);
		else if (!cpu_filter_passes(cpus, row))
			continue;
		counts[(size_t)row * heat->columns + column] += sign * ns;
	}
}

/* Adds a stretch of time within the grid to each of its cells. */
static void count_time(const struct heat *heat, int64_t *counts, const struct cpu_set_filter *cpus,
		       uint64_t from_ns, uint64_t to_ns, int sign)
{
	while (from_ns < to_ns) {
		uint64_t in_column_ns = (from_ns - heat->begin_ns) % heat->column_ns;
		uint64_t end_ns = MIN(to_ns, from_ns - in_column_ns + heat->column_ns);

		count_piece(heat, counts, cpus, from_ns, end_ns, sign);
		from_ns = end_ns;
	}
}

/* Subtracts a gap from the covered time. A grid of fractions ignores gaps of single CPUs. */
static int heat_take_gap(struct heat *heat, const struct window *window,
			 const struct coverage_gap *gap)
{
	_cleanup_(cpu_filter_done) struct cpu_set_filter cpus = { 0 };
	int r = *gap->cpus ? cpu_filter_parse(gap->cpus, &cpus, NULL) : 0;

	if (r == 0 && !(*gap->cpus && heat->by == HEAT_FRACTIONS))
		count_time(heat, heat->covered_ns.items, &cpus, MAX(gap->from_ns, window->from_ns),
			   MIN(gap->to_ns, window->to_ns), -1);
	return r == -ENOMEM ? r : 0;
}

int heat_cover(struct heat *heat, const struct window *window, const struct coverage *coverage)
{
	static const struct cpu_set_filter all;
	size_t count = (size_t)heat->rows * heat->columns;
	size_t size = count * sizeof(*heat->asked_ns.items);
	int r = 0;

	if (array_reserve(&heat->asked_ns, count) < 0 ||
	    array_reserve(&heat->covered_ns, count) < 0)
		return -ENOMEM;
	if (!count)
		return 0;
	memset(heat->asked_ns.items, 0, size);
	count_time(heat, heat->asked_ns.items, &all, window->from_ns, window->to_ns, 1);
	memcpy(heat->covered_ns.items, heat->asked_ns.items, size);
	for (size_t i = 0; r == 0 && i < coverage->gaps.count; i++)
		r = heat_take_gap(heat, window, &coverage->gaps.items[i]);
	heat->asked_ns.count = heat->covered_ns.count = count;
	return r;
}

bool heat_is_unknown(const struct heat *heat, uint32_t row, uint32_t column)
{
	double asked_ns = heat_cell_ns(heat, heat->asked_ns.items, row, column);

	return asked_ns > 0 && heat_cell_ns(heat, heat->covered_ns.items, row, column) <
				       MIN(asked_ns, (double)SLIVER_NS);
}

bool heat_is_outside(const struct heat *heat, uint32_t row, uint32_t column)
{
	return heat_cell_ns(heat, heat->asked_ns.items, row, column) <= 0;
}

double heat_busy(const struct heat *heat, uint32_t row, uint32_t column)
{
	double ns = heat_cell_ns(heat, heat->covered_ns.items, row, column);
	double value = ns >= SLIVER_NS ? stack_class_work_ns(heat_cell(heat, row, column)) / ns : 0;

	if (heat->by == HEAT_CPUS)
		return MIN(value, 1.0);
	return heat->host_cpus ? MIN(value, (double)heat->host_cpus) : value;
}

static int heat_make_room(const struct heat *heat, uint32_t rows, struct heat *coarse)
{
	size_t count = (size_t)rows * heat->columns;

	if (heat_add_rows(coarse, rows) < 0 || array_reserve(&coarse->asked_ns, count) < 0 ||
	    array_reserve(&coarse->covered_ns, count) < 0)
		return -ENOMEM;
	memset(coarse->asked_ns.items, 0, count * sizeof(*coarse->asked_ns.items));
	memset(coarse->covered_ns.items, 0, count * sizeof(*coarse->covered_ns.items));
	coarse->asked_ns.count = coarse->covered_ns.count = count;
	return 0;
}

int heat_coarser(const struct heat *heat, uint32_t rows, struct heat **ret_coarse)
{
	_cleanup_(cleanup_heat) struct heat *coarse = calloc(1, sizeof(*coarse));

	if (!coarse)
		return -ENOMEM;
	coarse->by = heat->by;
	coarse->begin_ns = heat->begin_ns;
	coarse->column_ns = heat->column_ns;
	coarse->columns = heat->columns;
	coarse->host_cpus = heat->host_cpus;
	coarse->left_out = heat->left_out;
	if (heat_make_room(heat, rows, coarse) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < heat->cells.count; i++) {
		size_t row = i / heat->columns / (heat->rows / rows);
		size_t to = row * heat->columns + i % heat->columns;

		stack_class_add(&coarse->cells.items[to], &heat->cells.items[i]);
		coarse->asked_ns.items[to] += heat->asked_ns.items[i];
		coarse->covered_ns.items[to] += heat->covered_ns.items[i];
	}
	*ret_coarse = take_ptr(coarse);
	return 0;
}
