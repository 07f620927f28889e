/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads ELF files. Files are read, never mapped, because truncating a mapped file raises SIGBUS.
 * Descriptors stay the caller's. Every file counts as hostile: each function has a budget of work
 * (symbolizer/work-limit.h) and returns -ETIME when the budget is spent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbolizer/addresses.h"

#define ELF_BUILD_ID_MAX 20

/*
 * Reads the GNU build-id of a file. Returns 1 with a build-id, 0 without one, -EBADMSG if the file
 * is damaged or is not ELF, or -ETIME.
 */
int elf_build_id(int fd, uint8_t ret_id[ELF_BUILD_ID_MAX], size_t *ret_size);

/*
 * Reads the build-id in the bytes of a note section, such as /sys/kernel/notes. Returns 1, or 0 if
 * the notes lack a build-id or are damaged.
 */
int elf_notes_build_id(const void *notes, size_t size, uint8_t ret_id[ELF_BUILD_ID_MAX],
		       size_t *ret_size);

/*
 * Names the unresolved addresses. Uses .symtab, .dynsym, and the PLT's entries as "name@plt", with
 * C++ and Rust demangled; then .gnu_debugdata; then the function table of a Go program. Addresses
 * are offsets in the file, as a mapping states them (address - start + page offset). Returns 0,
 * also without symbols; -EBADMSG with the reason; -ENOMEM; -E2BIG beyond the limit of names; or
 * -ETIME. After -E2BIG and -ETIME, some addresses may have names.
 *
 * debug_fd is a separate debug file, such as /usr/lib/debug/.build-id/ab/cdef.debug, or -1. The
 * caller guarantees that both files have the same build-id. The file itself supplies the names that
 * the debug file lacks.
 */
int elf_names(int fd, int debug_fd, struct addresses *addresses, struct error *error);

/* Names the unresolved addresses from an ELF image in memory, such as the vdso. */
int elf_names_image(const void *image, size_t size, struct addresses *addresses,
		    struct error *error);

/*
 * Labels the addresses that are still unresolved as "[NAME+0x4c80]". The number is the start of the
 * function according to .eh_frame, in the notation of the file's own tools. So each function of a
 * stripped file has one label. Returns the same values as elf_names().
 */
int elf_function_starts(int fd, const char *name, struct addresses *addresses);

#define ELF_DEBUGLINK_MAX 256
/*
 * Reads the name of a file's separate debug file, without a folder, and the CRC-32 of the debug
 * file. Returns 1 with the name, else 0, -EBADMSG or -ETIME.
 */
int elf_debuglink(int fd, char ret_name[ELF_DEBUGLINK_MAX], uint32_t *ret_crc);
/* Returns whether a file has this CRC-32. Does not read very large files. */
bool elf_has_crc(int fd, uint32_t crc);
