/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes the table of a file (unwind/unwind-table.h) from the file's .eh_frame. The file may be
 * hostile: the work is proportional to its size, and any bytes give a valid table or an error. The
 * builder takes at most 40 MB of memory besides the section.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "unwind/user-registers.h"

/*
 * unwind_table_build() refuses larger sections. That of ClickHouse has 32.2 MB and would give a
 * table of 27 MB; ClickHouse keeps frame pointers. The next largest known section has 8 MB.
 */
#define UNWIND_FRAME_MAX (32u << 20)

/* A range of addresses that is mapped from an offset in the file. */
struct unwind_segment {
	uint64_t address;
	uint64_t offset;
	uint64_t size;
};

struct unwind_source {
	enum unwind_machine machine;
	/* .eh_frame, and its address in memory. */
	const uint8_t *frame;
	size_t frame_size;
	uint64_t frame_address;
	/* The section's size is unknown; it ends at its first entry of size 0. */
	bool frame_open_end;
	/* The executable segments. The builder skips entries outside of these segments. */
	const struct unwind_segment *code;
	size_t code_count;
	/*
	 * Code that never moves the stack pointer before it jumps on, such as a PLT. The builder
	 * adds rules for such code where .eh_frame lacks entries. Sorted by offset; the builder
	 * ignores the addresses.
	 */
	const struct unwind_segment *frameless;
	size_t frameless_count;
};

/*
 * Appends the table to `ret_bytes`. Returns 0; -ENODATA if the entries do not cover any code;
 * -EFBIG if the section or the table is too large; -ENOMEM.
 */
int unwind_table_build(const struct unwind_source *source, struct buffer *ret_bytes);
