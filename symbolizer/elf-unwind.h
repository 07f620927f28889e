/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Makes the unwind table of an ELF file (unwind/unwind-table.h). */

#include <stddef.h>

#include "base/bytes.h"

/*
 * Appends the unwind table of a file for x86-64 or arm64. Returns 0; -ENODATA if .eh_frame is
 * missing or does not cover any code; -EBADMSG if the file is not 64-bit ELF of such a machine;
 * -EFBIG if the section or the table is too large; -ETIME; or -ENOMEM.
 */
int elf_unwind_table(int fd, struct buffer *ret_bytes);
/* Does the same for an ELF image in memory, such as the vdso. */
int elf_unwind_table_image(const void *image, size_t size, struct buffer *ret_bytes);
