/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Adds the section of sums to segments that an older perftape wrote. */

#include "base/error.h"
#include "store/read/store-reader.h"

/*
 * Encodes segments without a digest and an outline again, and replaces those that then have one of
 * them. Tiny segments stay as they are, because both would be a large part of them. Skips damaged
 * segments. *ret_count is the number of replaced segments. Returns 0 or a negative errno.
 */
int digest_adding_run(const char *path, struct store_reader *reader, uint64_t *ret_count,
		      struct error *error);
