/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The folder of snapshots and of their texts, with limits of number and size. Without limits,
 * anybody who can cause incidents could fill the folder's disk. Removes only files that have the
 * names of snapshots and that our user owns.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The default limit of the size. */
#define SNAPSHOT_SHELF_BYTES 1000000000ull
#define SNAPSHOT_SHELF_FILES 1000

/* The end of the name of a text beside a snapshot. */
#define SNAPSHOT_SHELF_TEXT ".txt"

/*
 * Creates the folder with access only for its owner. Returns 0, or a negative errno if we cannot
 * write into the folder.
 */
int snapshot_shelf_make(const char *folder);

/*
 * Removes the oldest snapshots until at most max_bytes and max_files are left; the newest one stays
 * in any case. Calls removed() for each name. Returns 0 or a negative errno.
 */
int snapshot_shelf_trim(const char *folder, uint64_t max_bytes, size_t max_files,
			void (*removed)(void *context, const char *name), void *context);
