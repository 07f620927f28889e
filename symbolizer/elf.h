/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * ELF files, through libelf, which elf.c alone includes. Descriptors are read, never mapped: a
 * mapped file that is cut short under us is SIGBUS. They stay the caller's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbolizer/addresses.h"

#define ELF_BUILD_ID_MAX 20

/* The GNU build-id of a file. 1 with it, 0 when the file has none, -EBADMSG when it is no ELF file
 * or damaged. */
int elf_build_id(int fd, uint8_t ret_id[ELF_BUILD_ID_MAX], size_t *ret_size);

/* The same out of the bytes of a note section, such as /sys/kernel/notes; 0 also when they are
 * damaged. */
int elf_notes_build_id(const void *notes, size_t size, uint8_t ret_id[ELF_BUILD_ID_MAX],
		       size_t *ret_size);

/*
 * Names the addresses that are open in `addresses`: with .symtab and .dynsym, and the PLT's entries
 * as "name@plt", C++ and Rust demangled; then with .gnu_debugdata; then, in a Go program, with the
 * table that it carries. Addresses are offsets in the file, as a mapping gives them (address -
 * start + page offset). 0, also when the file has no symbols; -EBADMSG with the reason; -ENOMEM;
 * -E2BIG beyond what names may take.
 *
 * debug_fd is a separate debug file, such as /usr/lib/debug/.build-id/ab/cdef.debug, or -1. That
 * both have one build-id is the caller's word. What it does not know is looked for in the file
 * itself.
 */
int elf_names(int fd, int debug_fd, struct addresses *addresses, struct error *error);

/* The same for an ELF image in memory, such as the vdso. */
int elf_names_image(const void *image, size_t size, struct addresses *addresses,
		    struct error *error);

/*
 * What is still open after that: "[NAME+0x4c80]" with the address at which its function starts, as
 * the file's own tools show it. So each function has one text, where a stripped file has no name
 * for it, out of .eh_frame. Answers as above.
 */
int elf_function_starts(int fd, const char *name, struct addresses *addresses);

#define ELF_DEBUGLINK_MAX 256
/*
 * The name of the separate debug file that a file says it has, without a folder, and the CRC-32 of
 * that. 1 with it, else 0 or -EBADMSG as above.
 */
int elf_debuglink(int fd, char ret_name[ELF_DEBUGLINK_MAX], uint32_t *ret_crc);
/* Has a file that CRC-32? Nothing that takes too long is looked at. */
bool elf_has_crc(int fd, uint32_t crc);
