// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/stall-grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* A cell has 19 samples at 97 Hz; one or two of them may fall into the cell beside it. */
#define FULL 0.85
#define HALF 0.45

int stall_grid_init(struct stall_grid *grid, uint64_t from_ns, uint64_t to_ns)
{
	*grid = (struct stall_grid){
		.from_ns = from_ns,
		.columns = MAX((to_ns - from_ns) / STALL_GRID_CELL_NS, 1ull),
	};
	return 0;
}

void stall_grid_done(struct stall_grid *grid)
{
	free(take_ptr(grid->cells));
}

static int stall_grid_extend(struct stall_grid *grid, uint32_t cpu)
{
	uint32_t cpus = MAX(cpu + 1, 2 * grid->cpus);
	struct stall_cell *cells =
		realloc(grid->cells, (size_t)cpus * grid->columns * sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	memset(cells + (size_t)grid->cpus * grid->columns, 0,
	       (size_t)(cpus - grid->cpus) * grid->columns * sizeof(*cells));
	grid->cells = cells;
	grid->cpus = cpus;
	return 0;
}

int stall_grid_add(struct stall_grid *grid, uint64_t realtime_ns, uint32_t cpu,
		   enum stack_class_kind kind, uint64_t ns)
{
	uint32_t column;

	if (realtime_ns < grid->from_ns || cpu >= STALL_GRID_CPUS_MAX)
		return 0;
	column = stall_grid_column(grid, realtime_ns);
	if (column >= grid->columns)
		return 0;
	if (cpu >= grid->cpus && stall_grid_extend(grid, cpu) < 0)
		return -ENOMEM;
	grid->highest = MAX(grid->highest, cpu);
	grid->cells[(size_t)cpu * grid->columns + column].us[kind] += ns / NSEC_PER_USEC;
	return 0;
}

uint32_t stall_grid_column(const struct stall_grid *grid, uint64_t realtime_ns)
{
	uint64_t column = (realtime_ns - MIN(grid->from_ns, realtime_ns)) / STALL_GRID_CELL_NS;

	return MIN(column, (uint64_t)grid->columns);
}

double stall_grid_busy(const struct stall_grid *grid, uint32_t cpu, uint32_t column)
{
	const struct stall_cell *cell;
	uint64_t work;

	if (cpu >= grid->cpus || column >= grid->columns)
		return 0;
	cell = &grid->cells[(size_t)cpu * grid->columns + column];
	work = (uint64_t)cell->us[STACK_CLASS_USER] + cell->us[STACK_CLASS_KERNEL] +
	       cell->us[STACK_CLASS_IRQ];
	/* idle samples show the length of a cell better than the nominal rate */
	return (double)work /
	       MAX(work + cell->us[STACK_CLASS_IDLE], STALL_GRID_CELL_NS / NSEC_PER_USEC);
}

/* Returns the end of the stretch that begins at a column. */
static uint32_t stall_grid_stretch(const struct stall_grid *grid, uint32_t cpu, uint32_t column)
{
	uint32_t end = column;

	while (column < grid->columns) {
		if (stall_grid_busy(grid, cpu, column) >= FULL)
			end = ++column;
		else if (column == end && column + 1 < grid->columns &&
			 stall_grid_busy(grid, cpu, column) >= HALF &&
			 stall_grid_busy(grid, cpu, column + 1) >= FULL)
			column++;
		else
			break;
	}
	return end;
}

struct stall_run stall_grid_run(const struct stall_grid *grid, uint32_t cpu, uint32_t from,
				uint32_t to)
{
	struct stall_run longest = { 0 };

	for (uint32_t column = 0; column < MIN(to, grid->columns);) {
		uint32_t end = stall_grid_stretch(grid, cpu, column);

		if (end > from && end - column > longest.to - longest.from)
			longest = (struct stall_run){ column, end };
		column = MAX(end, column + 1);
	}
	return longest;
}

struct stack_class stall_grid_sum(const struct stall_grid *grid, uint32_t cpu,
				  struct stall_run columns)
{
	struct stack_class sum = { 0 };

	for (uint32_t column = columns.from; cpu < grid->cpus && column < columns.to; column++)
		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
			sum.ns[kind] += grid->cells[(size_t)cpu * grid->columns + column].us[kind] *
					NSEC_PER_USEC;
	return sum;
}
