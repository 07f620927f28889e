/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The limits in the notes, and what they are measured by. */

#include "base/error.h"
#include "store/write/retention.h"

/* The last limits that were noted. 1, or 0 when none were and the limits are as before. */
int settings_read(const char *path, struct store_limits *limits, struct error *error);
int settings_append(const char *path, const struct store_limits *limits, struct error *error);

/* What a file takes of the disk, of most file systems. */
uint64_t store_taken(uint64_t bytes);

/*
 * Of all files in a store's folder but the segments, and but what SQLite keeps beside the index
 * only while it is open; and, with that, of the disk.
 */
int store_other_bytes(const char *path, uint64_t *ret_bytes, uint64_t *ret_taken_bytes,
		      struct error *error);
