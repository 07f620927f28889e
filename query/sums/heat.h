/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A window as a grid of CPU time. A column is one or more whole seconds. A row is either a fraction
 * of a second, summed over the seconds of the column, or a CPU.
 */

#include "query/coverage/coverage.h"
#include "query/read/scan.h"
#include "query/read/window-filter.h"
#include "query/window/window.h"
#include "tape/stack-class.h"

enum heat_rows {
	HEAT_FRACTIONS,
	HEAT_CPUS,
};

struct heat {
	enum heat_rows by;
	/*
	 * on the wall clock: the last whole second at or before the window's begin; with long
	 * columns the last whole 10 s or minute
	 */
	uint64_t begin_ns;
	uint64_t column_ns;
	uint32_t columns;
	/* with HEAT_CPUS: one more than the highest CPU number seen so far */
	uint32_t rows;
	/* the CPU time of each cell, row by row */
	array_of(struct stack_class) cells;
	/*
	 * For each cell: how much of its time lies in the window, and how much of that was
	 * recorded.
	 */
	array_of(int64_t) asked_ns, covered_ns;
	/* number of the host's CPUs; 0: not known */
	uint64_t host_cpus;
	/* bit mask of stack classes that count as idle */
	unsigned int left_out;
	struct stack_class_marks marks;
};

/*
 * Returns the shortest usual length of a column that divides the window into at most `columns_max`
 * columns.
 */
uint64_t heat_column_ns(const struct window *window, uint32_t columns_max);

/*
 * Creates a grid of fractions with `rows` rows, or a grid of CPUs, to which rows are added as CPUs
 * appear. Returns 0 or -ENOMEM.
 */
int heat_new(enum heat_rows by, const struct window *window, uint64_t column_ns, uint32_t rows,
	     struct heat **ret_heat);
struct heat *heat_free(struct heat *heat);
DEFINE_CLEANUP(heat, struct heat *, heat_free)

/*
 * Adds samples of the window with their wall clock times. Each stands for sample_ns of CPU time, or
 * more while the CPU was throttled. A grid of fractions spreads a sample over its period. Without
 * this spread, some rows would have one sample more per second than others, which would show as
 * stripes. Returns 0 or -ENOMEM.
 */
int heat_add(struct heat *heat, const struct tape *tape, const struct window_filter_times *times,
	     uint64_t sample_ns);
/*
 * Adds a tape's digest. Appends to `rest` the intervals that lie in several columns, whose samples
 * the caller adds instead. Returns 0, 1 if the digest does not suffice and nothing was added, or
 * -ENOMEM.
 */
int heat_add_digest(struct heat *heat, const struct tape *tape, uint64_t sample_ns,
		    struct scan_rest *rest);
/* Adds another grid of the same kind and window. Returns 0 or -ENOMEM. */
int heat_merge(struct heat *heat, const struct heat *other);
/*
 * Computes the known part of each cell. Call it after all samples were added. Returns 0 or -ENOMEM.
 */
int heat_cover(struct heat *heat, const struct window *window, const struct coverage *coverage);

/*
 * Returns how many CPUs were busy in a cell, at most the number of CPUs. Without this limit, the
 * result could be larger: heat_add() spreads a sample over its nominal period, and the next sample
 * may come earlier.
 */
double heat_busy(const struct heat *heat, uint32_t row, uint32_t column);
/* Returns true if a cell lies in the window, but less than a millisecond of it was recorded. */
bool heat_is_unknown(const struct heat *heat, uint32_t row, uint32_t column);
/* Returns true if a cell lies outside of the window, which may begin and end within a second. */
bool heat_is_outside(const struct heat *heat, uint32_t row, uint32_t column);
/*
 * Makes a grid with fewer fractions from a grid after heat_cover(). `rows` must divide the present
 * number. Returns 0 or -ENOMEM.
 */
int heat_coarser(const struct heat *heat, uint32_t rows, struct heat **ret_coarse);

/*
 * Appends a line of JSON per column after heat_cover(): how many CPUs were busy in each recorded
 * cell.
 */
void heat_put_json(const struct heat *heat, struct buffer *json);

static inline const struct stack_class *heat_cell(const struct heat *heat, uint32_t row,
						  uint32_t column)
{
	return &heat->cells.items[(size_t)row * heat->columns + column];
}

/* Returns a cell's value in asked_ns or covered_ns. */
static inline double heat_cell_ns(const struct heat *heat, const int64_t *of, uint32_t row,
				  uint32_t column)
{
	return of[(size_t)row * heat->columns + column];
}
