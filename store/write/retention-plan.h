/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which segments retention removes: numbers in, a reason for each out. */

#include "base/array.h"
#include "store/write/retention.h"

struct retention_plan_item {
	/* of the wall clock */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t length_ns; /* of the perf clock, which nobody sets */
	uint64_t bytes;
	uint64_t taken_bytes; /* of the disk: whole blocks */
	bool keep; /* in any case */
	bool pinned;
	bool overdue; /* beyond the limit of age */
	bool past_pins; /* beyond the one of pins */
	bool spared; /* beyond it by the wall clock only */
	bool for_space;
	const char *why; /* it is removed; NULL when it stays */
};

/* What is pinned until a moment of the wall clock. */
struct retention_plan_pin {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t until_ns; /* UINT64_MAX: as long as pin_ns says */
};

/* When others had filled the disk so far that the store may not grow: what it took of the disk, and what it could have taken. All 0: they have not. */
struct retention_plan_hold {
	uint64_t taken_bytes;
	uint64_t reach_bytes;
};

struct retention_plan_figures {
	uint64_t now_ns;
	uint64_t bytes; /* of all that is in the store */
	uint64_t
		taken_bytes; /* of the disk: whole blocks, and with what comes and goes by itself */
	uint64_t free_bytes;
	uint64_t room_bytes; /* what it takes to go on recording */
	uint64_t floor_bytes; /* the store does not give more than down to this for free space */
	struct retention_plan_hold hold; /* of the last time */
};

struct retention_plan {
	array_of(struct retention_plan_item) items; /* in the order of their ends */
	array_of(struct retention_plan_pin) pins;
	bool starved; /* see struct store_retained */
	struct retention_plan_hold hold; /* for the figures of the next time */
};

/*
 * Sets all but the figures of each. What is pinned goes for the bytes that the store may take, after all others, and never for free space
 * that others took.
 */
void retention_plan_make(struct retention_plan *choice, const struct store_limits *limits,
	const struct retention_plan_figures *figures);
