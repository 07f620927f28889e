/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The timer that took a CPU's samples: one slot every period_ns. Most samples come within a few
 * microseconds after their slot, so that a byte is enough for their time. Both sides of the codec
 * walk the same grid. Times are microseconds from the begin of a block.
 */

#include <stdbool.h>
#include <stdint.h>

/* A byte holds the delay of a sample behind the expected slot, plus TIMER_GRID_EARLY_US. */
#define TIMER_GRID_EARLY_US 100
#define TIMER_GRID_ESCAPE 255

struct timer_grid {
	/* The time of slot 0. */
	int64_t phase_us;
	/* 0: the block lacks a grid, and each time is an escape. */
	uint64_t period_ns;
	/* The time from the phase to the expected slot. */
	uint64_t slot_ns;
};

/* Returns the next expected time. */
static inline int64_t timer_grid_expected(const struct timer_grid *grid)
{
	return grid->phase_us + (int64_t)(grid->slot_ns / 1000);
}

/* Advances after a sample whose time fits a byte. */
static inline void timer_grid_advance(struct timer_grid *grid)
{
	grid->slot_ns += grid->period_ns;
}

/* Advances after an escape, to the slot after the nearest one. */
static inline void timer_grid_settle(struct timer_grid *grid, int64_t time_us)
{
	uint64_t past_ns = time_us > grid->phase_us ? (time_us - grid->phase_us) * 1000ull : 0;

	if (!grid->period_ns)
		return;
	grid->slot_ns = ((past_ns + grid->period_ns / 2) / grid->period_ns + 1) * grid->period_ns;
}
