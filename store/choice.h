/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which segments retention removes: numbers in, a reason for each out. */

#include "base/array.h"
#include "store/retention.h"

struct choice_item {
	/* of the wall clock */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t length_ns; /* of the perf clock, which nobody sets */
	uint64_t bytes;
	bool keep; /* in any case */
	bool pinned;
	bool overdue; /* beyond the limit of age */
	bool past_pins; /* beyond the one of pins */
	bool spared; /* beyond it by the wall clock only */
	bool for_space;
	const char *why; /* it is removed; NULL when it stays */
};

/* What is pinned until a moment of the wall clock. */
struct choice_pin {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t until_ns; /* UINT64_MAX: as long as pin_ns says */
};

struct choice_figures {
	uint64_t now_ns;
	uint64_t bytes; /* of all that is in the store */
	uint64_t free_bytes;
	uint64_t room_bytes; /* what it takes to go on recording */
	uint64_t floor_bytes; /* the store does not give more than down to this for free space */
	uint64_t
		held_bytes; /* the store may not grow beyond this when the disk is too full; 0: beyond what it has now */
};

struct choice {
	array_of(struct choice_item) items; /* in the order of their ends */
	array_of(struct choice_pin) pins;
	bool starved; /* see struct store_retained */
};

/*
 * Sets all but the figures of each. What is pinned goes for the bytes that the store may take, after all others, and never for free space
 * that others took.
 */
void choice_make(struct choice *choice, const struct store_limits *limits,
	const struct choice_figures *figures);
