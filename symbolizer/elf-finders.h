/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The sources of names in an ELF file, one in each elf-*.c. Each source names the unresolved
 * addresses that it knows, and skips the others. Each function returns 0, also if its source does
 * not know a name; -ENOMEM; -E2BIG beyond the limit of names; or -EBADMSG with the reason. Private
 * to symbolizer/.
 */

#include "base/error.h"
#include "symbolizer/elf-image.h"
#include "symbolizer/addresses.h"

/*
 * Uses the symbol tables of `named`, which is `mapped` itself or its debug file, and the PLT of
 * `mapped`.
 */
int elf_find_symbols(const struct elf_image *mapped, const struct elf_image *named,
		     struct addresses *addresses, struct error *error);
/* Uses the packed symbols in .gnu_debugdata. */
int elf_find_debugdata(const struct elf_image *image, struct addresses *addresses);
/* Uses the function table of a Go program. */
int elf_find_go(const struct elf_image *image, struct addresses *addresses);
