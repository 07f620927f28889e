/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the files of a store take. */

#include <stdint.h>

#include "base/error.h"

/* What a file takes of the disk, of most file systems. */
uint64_t store_taken(uint64_t bytes);

/*
 * Of all files in a store's folder but the segments, and but what SQLite keeps beside the index
 * only while it is open; and, with that, of the disk.
 */
int store_other_bytes(const char *path, uint64_t *ret_bytes, uint64_t *ret_taken_bytes,
		      struct error *error);
