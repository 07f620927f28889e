/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What each CPU did around a stall, in cells of 200 ms, and the longest time in which a CPU had no
 * idle time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tape/stack-class.h"

#define STALL_GRID_CELL_NS 200000000ull
/* The grid ignores higher CPU numbers, so that a number from a file does not decide its size. */
#define STALL_GRID_CPUS_MAX 8192

struct stall_cell {
	uint32_t us[STACK_CLASS_KINDS];
};

struct stall_grid {
	uint64_t from_ns;
	uint32_t columns, cpus;
	/* the highest CPU number so far */
	uint32_t highest;
	/* by CPU, then by column */
	struct stall_cell *cells;
};

/* A stretch of columns [from, to). Empty if from equals to. */
struct stall_run {
	uint32_t from, to;
};

/* Returns 0 or -ENOMEM. Free the grid with stall_grid_done(). */
int stall_grid_init(struct stall_grid *grid, uint64_t from_ns, uint64_t to_ns);
void stall_grid_done(struct stall_grid *grid);
/* Adds the time of a sample within the grid. Returns 0 or -ENOMEM. */
int stall_grid_add(struct stall_grid *grid, uint64_t realtime_ns, uint32_t cpu,
		   enum stack_class_kind kind, uint64_t ns);

/* Returns the busy share of a CPU in a column. */
double stall_grid_busy(const struct stall_grid *grid, uint32_t cpu, uint32_t column);
/*
 * Returns the longest stretch without idle time of a CPU that overlaps the columns [from, to). One
 * cell that is only half busy does not end a stretch.
 */
struct stall_run stall_grid_run(const struct stall_grid *grid, uint32_t cpu, uint32_t from,
				uint32_t to);
/* Returns the column of a moment, at most the number of columns. */
uint32_t stall_grid_column(const struct stall_grid *grid, uint64_t realtime_ns);
/* Sums the time of a CPU in columns. */
struct stack_class stall_grid_sum(const struct stall_grid *grid, uint32_t cpu,
				  struct stall_run columns);
