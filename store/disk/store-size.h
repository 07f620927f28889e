/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The disk space that a store takes. */

#include <stdint.h>

#include "base/error.h"

/* Returns the disk space that a file of that size takes on most file systems. */
uint64_t store_taken(uint64_t bytes);

/*
 * Adds up all files in a store's folder except segments, and except the files that SQLite keeps
 * beside an open index. *ret_taken_bytes is the disk space of these files and of those of SQLite.
 */
int store_other_bytes(const char *path, uint64_t *ret_bytes, uint64_t *ret_taken_bytes,
		      struct error *error);
