/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The ranges of the wall clock whose segments are gone, because retention or somebody else removed
 * them. Their file consists of records like those of the notes. The holder of the store's lock
 * replaces the file as a whole. The file stays small, because removed_ranges_add() joins adjacent
 * ranges.
 */

#include <stdbool.h>

#include "base/error.h"
#include "store/disk/segment-row.h"

/*
 * The function joins ranges of one kind that are nearer to each other than this. A recorder that
 * restarts leaves gaps of about this length.
 */
#define REMOVED_RANGES_JOIN_NS 1000000000ull

/* Beyond this number, removed_ranges_add() joins the nearest two ranges of one kind. */
#define REMOVED_RANGES_MAX 256

/* Adds a range. Returns 0 or -ENOMEM. */
int removed_ranges_add(struct store_removed_ranges *ranges,
		       const struct store_removed_range *range);

/* Returns whether one range of that kind contains all of [from, to). */
bool removed_ranges_has(const struct store_removed_ranges *ranges, bool vanished, uint64_t from_ns,
			uint64_t to_ns);

/*
 * Adds the ranges in the store's file; a missing file is not an error. *ret_damaged is the number
 * of damaged stretches in the file.
 */
int removed_ranges_read(const char *path, struct store_removed_ranges *ranges,
			uint64_t *ret_damaged, struct error *error);
/* Replaces the store's file, durably. */
int removed_ranges_write(const char *path, const struct store_removed_ranges *ranges,
			 struct error *error);
