/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What knows names in an ELF file, each in a file of its own. Each names what it knows of what is
 * open, and leaves the rest. 0, also when it knows nothing; -ENOMEM; -E2BIG beyond what names may
 * take; -EBADMSG with the reason. Of this folder alone.
 */

#include "base/error.h"
#include "symbolizer/elf-image.h"
#include "symbolizer/addresses.h"

/* The symbol tables of `named`, which is `mapped` itself or has the names of it, and the PLT of
 * `mapped`. */
int elf_find_symbols(const struct elf_image *mapped, const struct elf_image *named,
		     struct addresses *addresses, struct error *error);
/* The symbols that a distribution left in the file, packed (.gnu_debugdata). */
int elf_find_debugdata(const struct elf_image *image, struct addresses *addresses);
/* The table that Go programs carry. */
int elf_find_go(const struct elf_image *image, struct addresses *addresses);
