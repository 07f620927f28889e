// SPDX-License-Identifier: GPL-2.0-only
/* Reads any bytes as the section of busy CPUs. Decoded rows must refer only to rows that exist. */
#include <stdlib.h>

#include "tape/busy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct busy *busy)
{
	uint32_t names = strings_count(&busy->names);

	for (size_t i = 0; i < busy->threads.count; i++)
		if (busy->threads.items[i].comm >= names)
			abort();
	for (size_t i = 0; i < busy->cells.count; i++) {
		const struct busy_cell *cell = &busy->cells.items[i];

		if (cell->slot >= busy->slots.count || cell->thread > busy->threads.count ||
		    cell->function >= names)
			abort();
		if (i && cell[-1].cpu == cell->cpu && cell[-1].slot >= cell->slot)
			abort();
	}
	for (size_t i = 1; i < busy->slots.count; i++)
		if (busy->slots.items[i].perf_ns <
		    busy->slots.items[i - 1].perf_ns + busy->slots.items[i - 1].length_ns)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct busy_decoder *decoder;
	struct busy busy;
	int r;

	if (!decoder && busy_decoder_new(&decoder) < 0)
		abort();
	r = busy_decode(decoder, data, size, &busy);
	if (r == 0)
		check(&busy);
	else if (r != -EBADMSG && r != -ENOMEM)
		abort();
	busy_done(&busy);
	return 0;
}
