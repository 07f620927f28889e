/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Decodes the entries of .eh_frame: common entries (CIE) and functions (FDE). The decoder does not
 * trust the bytes: it skips entries that it does not understand, and stops at the first invalid
 * length. Private to unwind/.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/bytes.h"

/* A common entry (CIE), to which the entries of many functions refer. */
struct cfi_common {
	/* The offset of this entry in the section. */
	uint64_t at;
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_number;
	/* The instructions that run before each function's own instructions. */
	uint32_t program, program_end;
	uint8_t encoding;
	/* The entries of functions have augmentation data, too. */
	bool augmented;
	bool signal;
};

struct cfi_function {
	/* The offset of this entry in the section. */
	uint32_t at;
	uint32_t common;
	uint64_t start;
	uint64_t size;
	uint32_t program, program_end;
};

struct cfi_entries {
	const uint8_t *bytes;
	size_t size;
	/* The section's address in memory. */
	uint64_t address;
	/* Sorted by `at`. */
	array_of(struct cfi_common) commons;
};

/* Takes a function; returns 0 or a negative errno. */
typedef int cfi_see_function(void *context, const struct cfi_function *function);

/*
 * Reads all entries of a section, which must be smaller than 4 GB, and shows each function to
 * `see`. A caller that keeps only where a function is reads it again with cfi_function_at().
 * `bytes` must outlive *ret_entries. With `open_end`, the section's size is unknown, and an entry
 * of size 0 ends it. Returns 0, -ENOMEM, -EFBIG or the error of `see`; call cfi_entries_done() in
 * any case.
 */
int cfi_entries_read(const uint8_t *bytes, size_t size, uint64_t address, bool open_end,
		     cfi_see_function *see, void *context, struct cfi_entries *ret_entries);
void cfi_entries_done(struct cfi_entries *entries);
/* Reads the function whose entry begins at `at`, which `see` was shown. */
struct cfi_function cfi_function_at(const struct cfi_entries *entries, uint32_t at);

/* Returns a reader of a program, which lies between two offsets in the section. */
struct reader cfi_program(const struct cfi_entries *entries, uint32_t program,
			  uint32_t program_end);
/*
 * Reads an address in the encoding of a common entry. Fails the reader if the encoding is unusual.
 */
uint64_t cfi_read_address(const struct cfi_entries *entries, struct reader *reader,
			  uint8_t encoding);
/* Reads a signed LEB128 number. */
int64_t cfi_read_signed(struct reader *reader);
