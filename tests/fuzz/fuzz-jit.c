// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as a perf map and as a jitdump. Each named address must lie after the start of
 * its function, and the name must not be empty.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbolizer/jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const struct file_window *source,
		int (*names)(const struct file_window *, struct addresses *))
{
	_cleanup_(addresses_done) struct addresses addresses = { 0 };

	for (uint64_t address = 0x1000; address < 0x1100; address += 8)
		if (addresses_add(&addresses, address) < 0)
			abort();
	if (names(source, &addresses) < 0)
		abort();
	for (size_t i = 0; i < addresses.list.count; i++) {
		const struct address *address = &addresses.list.items[i];

		if (address->state == ADDRESSES_NAMED &&
		    (!*addresses_name(&addresses, address) || address->start > address->address))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file_window source = file_window_of_memory(data, size);

	run(&source, perf_map_names);
	run(&source, jitdump_names);
	return 0;
}
