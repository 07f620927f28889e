/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Decides which segments retention removes: takes numbers and returns a reason for each. */

#include "base/array.h"
#include "store/disk/limits.h"

/* Why a segment is removed. */
enum retention_plan_reason {
	/* It stays. */
	RETENTION_PLAN_STAYS,
	/* It is older than the limit. */
	RETENTION_PLAN_AGE,
	/* The store is larger than the limit. */
	RETENTION_PLAN_BYTES,
	/* Less of the disk is free than the limit says. */
	RETENTION_PLAN_SPACE,
	/* Others fill the disk, so the store may not grow. */
	RETENTION_PLAN_STARVED,
};

struct retention_plan_item {
	/* On the wall clock. */
	uint64_t begin_ns;
	uint64_t end_ns;
	/* On the perf clock, which nobody sets. */
	uint64_t length_ns;
	uint64_t bytes;
	/* The disk space: whole blocks. */
	uint64_t taken_bytes;
	/* The item is never removed. */
	bool keep;
	bool pinned;
	/* Older than the limit of age. */
	bool overdue;
	/* Older than the limit for pins. */
	bool past_pins;
	/* Too old by the wall clock only, so it stays. */
	bool spared;
	enum retention_plan_reason reason;
};

/* A range that is pinned until a moment of the wall clock. */
struct retention_plan_pin {
	uint64_t from_ns;
	uint64_t to_ns;
	/* UINT64_MAX: until it is older than pin_ns. */
	uint64_t until_ns;
};

/*
 * The limit of the store's size after other processes have filled the disk: the disk space that the
 * store took then, and the disk space that it could have taken. Both are 0 as long as the disk is
 * not filled.
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
 * Sets all members of each item except its sizes and times. Pinned items are removed only for the
 * limit of the store's size, and only after all others. They are never removed for free space that
 * other processes took.
 */
void retention_plan_make(struct retention_plan *plan, const struct store_limits *limits,
			 const struct retention_plan_figures *figures);
