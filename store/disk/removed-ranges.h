/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Of which time of the wall clock there were segments that are gone: because retention removed
 * them, or because somebody else did. A file of records like those of the notes, which is replaced
 * as a whole by whoever holds the store's lock. It stays small: what lies next to each other is one
 * stretch.
 */

#include <stdbool.h>

#include "base/error.h"
#include "store/disk/segment-row.h"

/* Stretches of one kind are no nearer to each other than this: a recorder that is started again
 * leaves about as much. */
#define REMOVED_RANGES_JOIN_NS 1000000000ull

/* Of more than so many, those of one kind that lie nearest to each other become one. */
#define REMOVED_RANGES_MAX 256

/* Takes in one more stretch. 0 or -ENOMEM. */
int removed_ranges_add(struct store_gone_list *gone, const struct store_gone *one);

/* Is all of [from, to) in one stretch of that kind? */
bool removed_ranges_has(const struct store_gone_list *gone, bool vanished, uint64_t from_ns,
			uint64_t to_ns);

/* Adds what the store says is gone; no file is no error. *ret_damaged as with notes_read(). */
int removed_ranges_read(const char *path, struct store_gone_list *gone, uint64_t *ret_damaged,
			struct error *error);
/* Replaces it, durably. */
int removed_ranges_write(const char *path, const struct store_gone_list *gone, struct error *error);
