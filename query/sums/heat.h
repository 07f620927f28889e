/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A window as a grid of CPU time: columns are whole seconds, or so many of them; rows are fractions
 * of a second, each of all the seconds of its column, or CPUs by their number.
 */

#include "query/coverage/coverage.h"
#include "query/read/window-filter.h"
#include "query/window/window.h"
#include "tape/stack-class.h"

enum heat_rows {
	HEAT_FRACTIONS,
	HEAT_CPUS,
};

struct heat {
	enum heat_rows by;
	/* of the wall clock: a whole second at or before the window */
	uint64_t begin_ns;
	uint64_t column_ns;
	uint32_t columns;
	/* of CPUs: up to the last one that was seen */
	uint32_t rows;
	/* row by row */
	array_of(struct stack_class) cells;
	/* Of each: how much of it is of the window, and how much of that was recorded. */
	array_of(int64_t) asked_ns, covered_ns;
	/* 0: not known */
	uint64_t host_cpus;
	/* kinds of load, a bit each, that count as idle */
	unsigned int left_out;
	struct stack_class_marks marks;
};

/* The least number of seconds, of those that a person counts in, with which a window has no more
 * columns than that. */
uint64_t heat_column_ns(const struct window *window, uint32_t columns_max);

/* rows is of fractions; CPUs come as they are seen. 0 or -ENOMEM. */
int heat_new(enum heat_rows by, const struct window *window, uint64_t column_ns, uint32_t rows,
	     struct heat **ret_heat);
struct heat *heat_free(struct heat *heat);
DEFINE_CLEANUP(heat, struct heat *, heat_free)

/*
 * Samples of the window, with their times of the wall clock; each stands for so much CPU time, and
 * for more where the CPU was throttled. Over fractions it is spread as it is in time: else some of
 * them would have a sample more than others in each second, and show stripes. 0 or -ENOMEM.
 */
int heat_add(struct heat *heat, const struct tape *tape, const struct window_filter_times *times,
	     uint64_t sample_ns);
/* Adds another one of the same kind and window. 0 or -ENOMEM. */
int heat_merge(struct heat *heat, const struct heat *other);
/* What of the cells is known, once all is added. 0 or -ENOMEM. */
int heat_cover(struct heat *heat, const struct window *window, const struct coverage *coverage);

/* How many CPUs are busy in it, at most as many as there are: samples are spread by their usual
 * distance, which is not the one that they have. */
double heat_busy(const struct heat *heat, uint32_t row, uint32_t column);
/* Was it of the window, and not recorded, or no more than a sliver of it? */
bool heat_is_unknown(const struct heat *heat, uint32_t row, uint32_t column);
/* Is none of it of the window, which may begin and end within a second? */
bool heat_is_outside(const struct heat *heat, uint32_t row, uint32_t column);
/* A heat of fewer fractions, once it is covered; rows divides those that it has. 0 or -ENOMEM. */
int heat_coarser(const struct heat *heat, uint32_t rows, struct heat **ret_coarse);

/* A line each column, once it is covered: of each cell that was recorded, how many CPUs were busy
 * in it. */
void heat_put_json(const struct heat *heat, struct buffer *json);

static inline const struct stack_class *heat_cell(const struct heat *heat, uint32_t row,
						  uint32_t column)
{
	return &heat->cells.items[(size_t)row * heat->columns + column];
}

/* What there is of a cell, of asked_ns or covered_ns. */
static inline double heat_cell_ns(const struct heat *heat, const int64_t *of, uint32_t row,
				  uint32_t column)
{
	return of[(size_t)row * heat->columns + column];
}
