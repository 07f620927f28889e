/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Unpacks files in gzip, xz or zstd. */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Checks whether the first bytes of a file show that it is packed. If they do, unpacks it into an
 * unnamed file in `folder`, closes *fd, replaces it with the new file at offset 0, and returns 1.
 * Returns 0 for other files, with *fd unchanged. If a packed file is truncated or damaged, the
 * result ends before the damage and *ret_damaged is set. A helper unpacks (unpack-helper.h).
 *
 * Returns -EFBIG beyond `limit` unpacked bytes, -ENOBUFS if unpacking needs too much memory, an
 * error of the helper, or another errno of reading or writing; sets `error` in each case.
 */
int unpack_file(int *fd, const char *folder, uint64_t limit, bool *ret_damaged,
		struct error *error);
