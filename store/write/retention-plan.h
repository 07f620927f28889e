/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Decides which segments retention removes, from numbers alone, and gives a reason for each. */

#include "base/array.h"
#include "store/disk/limits.h"

/* The reason for removing a segment. */
enum retention_plan_reason {
	/* The segment stays. */
	RETENTION_PLAN_STAYS,
	/* The segment is older than the limit. */
	RETENTION_PLAN_AGE,
	/* The store is larger than the limit. */
	RETENTION_PLAN_BYTES,
	/* The free space of the disk is below the limit. */
	RETENTION_PLAN_SPACE,
	/* Other processes fill the disk, so the store must not grow. */
	RETENTION_PLAN_STARVED,
};

struct retention_plan_item {
	/* On the wall clock. */
	uint64_t begin_ns;
	uint64_t end_ns;
	/* On the perf clock, which does not jump. */
	uint64_t length_ns;
	uint64_t bytes;
	/* The disk space: whole blocks. */
	uint64_t taken_bytes;
	/* Never remove the item. */
	bool keep;
	bool pinned;
	/* Older than the limit of age. */
	bool overdue;
	/* Older than the limit for pins. */
	bool past_pins;
	/* The item is too old only by the wall clock, so it stays. */
	bool spared;
	enum retention_plan_reason reason;
};

/* A range that is pinned until a moment of the wall clock. */
struct retention_plan_pin {
	uint64_t from_ns;
	uint64_t to_ns;
	/* UINT64_MAX: the pin ends when the range is older than pin_ns. */
	uint64_t until_ns;
};

/*
 * The limit of the store's size after other processes have filled the disk: the disk space that the
 * store took then, and the disk space that the store could have taken. Both are 0 until the disk is
 * full.
 */
struct retention_plan_hold {
	uint64_t taken_bytes;
	uint64_t reach_bytes;
};

struct retention_plan_figures {
	uint64_t now_ns;
	/* The size of all files in the store. */
	uint64_t bytes;
	/* The disk space of these files in whole blocks, including temporary files. */
	uint64_t taken_bytes;
	uint64_t free_bytes;
	/* The disk space that the recording needs next. */
	uint64_t room_bytes;
	/* The store does not shrink below this size to free space. */
	uint64_t floor_bytes;
	/* The result of the previous plan. */
	struct retention_plan_hold hold;
};

struct retention_plan {
	/* Sorted by end. */
	array_of(struct retention_plan_item) items;
	array_of(struct retention_plan_pin) pins;
	/* See struct store_retained. */
	bool starved;
	/* The hold that the next plan starts with. */
	struct retention_plan_hold hold;
};

/* Returns a text for a reason other than RETENTION_PLAN_STAYS. */
const char *retention_plan_reason_text(enum retention_plan_reason reason);

/*
 * Sets all members of each item except its sizes and times. The plan removes pinned items only for
 * the limit of the store's size, and only after all others. It does not remove pinned items for
 * free space that other processes took.
 */
void retention_plan_make(struct retention_plan *plan, const struct store_limits *limits,
			 const struct retention_plan_figures *figures);
