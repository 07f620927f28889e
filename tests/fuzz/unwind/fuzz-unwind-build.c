// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as .eh_frame of both machines. The result is an error or a valid table with at
 * most a row per byte, and one more per page.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "unwind/table-builder.h"
#include "unwind/unwind-table.h"

#define FRAME 0x402000
#define CODE_SIZE (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_table(const struct buffer *bytes, size_t size)
{
	struct unwind_table table;
	struct unwind_rule rule;
	uint64_t offset, last = 0;
	uint32_t at = 0;

	if (unwind_table_open(bytes->data, bytes->size, &table) < 0 || table.size != bytes->size)
		abort();
	if (table.rows > size + table.pages + 8)
		abort();
	while (unwind_table_next(&table, &at, &offset, &rule)) {
		if (at > 1 && offset <= last)
			abort();
		last = offset;
	}
	for (offset = 0; offset < 2 * CODE_SIZE; offset += 0x333)
		unwind_table_find(&table, offset, &rule);
}

static void build(const uint8_t *data, size_t size, enum unwind_machine machine, bool open_end)
{
	const struct unwind_segment code[] = { { 0x400000, 0, CODE_SIZE },
					       { 0x1000, 0x200000, 0x1000 } };
	const struct unwind_segment plt = { 0x401000, 0x1000, 0x80 };
	const struct unwind_source source = {
		.machine = machine,
		.frame = data,
		.frame_size = size,
		.frame_address = FRAME,
		.frame_open_end = open_end,
		.code = code,
		.code_count = ARRAY_SIZE(code),
		.frameless = &plt,
		.frameless_count = 1,
	};
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	int r = unwind_table_build(&source, &bytes);

	if (r == 0)
		check_table(&bytes, size);
	else if ((r != -ENODATA && r != -EFBIG && r != -ENOMEM) || bytes.size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	build(data, size, UNWIND_X86_64, false);
	build(data, size, UNWIND_ARM64, true);
	return 0;
}
