/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The folder of the recorder's snapshots, bounded by number and size: whoever can cause incidents
 * would otherwise fill its disk. Removes only files with the names of snapshots that our user owns.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A limit for people who give none. */
#define SNAPSHOT_SHELF_BYTES 1000000000ull
#define SNAPSHOT_SHELF_FILES 1000

/* Creates the folder, only for its owner. Returns 0, or a negative errno if we cannot write it. */
int snapshot_shelf_make(const char *folder);

/*
 * Removes the oldest snapshots until at most max_bytes and max_files are left; the newest one stays
 * in any case. Calls removed() for each name. Returns 0 or a negative errno.
 */
int snapshot_shelf_trim(const char *folder, uint64_t max_bytes, size_t max_files,
			void (*removed)(void *context, const char *name), void *context);
