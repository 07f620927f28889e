/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes unwind tables of files of others in the naming helper. The parent creates the memory for a
 * table and seals it against growth, so a helper that a file has taken over cannot use more. After
 * the answer, the parent seals the memory against all changes.
 */

#include <stddef.h>

#include "namer/name-helper.h"

/*
 * Makes the unwind table of an ELF file. Returns 0 with sealed memory, which the caller closes;
 * unwind_table_open() must check its first `*ret_size` bytes. Returns -ENODATA if the file has no
 * entries for code; -EBADMSG if the file is damaged; -EFBIG if its table is too large; -EPROTO if
 * the helper keeps a writable mapping; or the errors of name-helper.h.
 */
int name_helper_unwind(struct name_helper *helper, int fd, int *ret_memory, size_t *ret_size);
