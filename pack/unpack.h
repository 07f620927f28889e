/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Files that somebody has put gzip, xz or zstd around. */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Looks at the first bytes of a file. When it is packed, unpacks it into a file without a name in
 * `folder` and replaces *fd with that, at offset 0: 1. Else 0, and *fd is untouched. A packed file
 * that is cut short or damaged gives what came before the damage, and says so in *ret_damaged.
 * -EFBIG when it unpacks to more than limit bytes, -ENOBUFS when that would take too much memory;
 * another errno of reading or writing; each with a text.
 */
int unpack_file(int *fd, const char *folder, uint64_t limit, bool *ret_damaged,
		struct error *error);
