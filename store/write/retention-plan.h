/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which segments retention removes: numbers in, a reason for each out. */

#include "base/array.h"
#include "store/disk/limits.h"

struct retention_plan_item {
	/* of the wall clock */
	uint64_t begin_ns;
	uint64_t end_ns;
	/* of the perf clock, which nobody sets */
	uint64_t length_ns;
	uint64_t bytes;
	/* of the disk: whole blocks */
	uint64_t taken_bytes;
	/* in any case */
	bool keep;
	bool pinned;
	/* beyond the limit of age */
	bool overdue;
	/* beyond the one of pins */
	bool past_pins;
	/* beyond it by the wall clock only */
	bool spared;
	bool for_space;
	/* it is removed; NULL when it stays */
	const char *why;
};

/* What is pinned until a moment of the wall clock. */
struct retention_plan_pin {
	uint64_t from_ns;
	uint64_t to_ns;
	/* UINT64_MAX: as long as pin_ns says */
	uint64_t until_ns;
};

/* When others had filled the disk so far that the store may not grow: what it took of the disk, and
 * what it could have taken. All 0: they have not. */
struct retention_plan_hold {
	uint64_t taken_bytes;
	uint64_t reach_bytes;
};

struct retention_plan_figures {
	uint64_t now_ns;
	/* of all that is in the store */
	uint64_t bytes;
	/* of the disk: whole blocks, and with what comes and goes by itself */
	uint64_t taken_bytes;
	uint64_t free_bytes;
	/* what it takes to go on recording */
	uint64_t room_bytes;
	/* the store does not give more than down to this for free space */
	uint64_t floor_bytes;
	/* of the last time */
	struct retention_plan_hold hold;
};

struct retention_plan {
	/* in the order of their ends */
	array_of(struct retention_plan_item) items;
	array_of(struct retention_plan_pin) pins;
	/* see struct store_retained */
	bool starved;
	/* for the figures of the next time */
	struct retention_plan_hold hold;
};

/*
 * Sets all but the figures of each. What is pinned goes for the bytes that the store may take,
 * after all others, and never for free space that others took.
 */
void retention_plan_make(struct retention_plan *choice, const struct store_limits *limits,
			 const struct retention_plan_figures *figures);
