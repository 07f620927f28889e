// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as a Go program's table of functions. A function that the table finds must
 * contain the address, and the table must find it again at its start.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolizer/go-table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_window source = file_window_of_memory(data, size);
	struct go_table table;

	if (!go_table_open(&table, &source))
		return 0;
	for (uint64_t offset = 0; offset < 0x200; offset += 7) {
		uint64_t start;
		const char *name;

		if (!go_table_find(&table, 0x401000 + offset, &start, &name))
			continue;
		if (start > 0x401000 + offset || strlen(name) >= size)
			abort();
	}
	go_table_done(&table);
	return 0;
}
