// SPDX-License-Identifier: GPL-2.0-only
/* Reads any bytes as an outbox. Each batch of an outbox that is sound belongs to a table. */
#include <stdlib.h>
#include <string.h>

#include "fleet/outbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(outbox_close) struct outbox_reader reader = { 0 };
	_cleanup_(ship_state_done) struct ship_state state = { 0 };
	struct outbox_batch batch;

	reader.data = malloc(size + 1);
	if (!reader.data)
		return 0;
	memcpy(reader.data, data, size);
	reader.size = size;
	if (outbox_check(&reader) < 0)
		return 0;
	while (outbox_next_batch(&reader, &batch) > 0)
		if (!fleet_into(batch.table) || (const char *)batch.data < reader.data ||
		    (const char *)batch.data + batch.size > reader.data + reader.size)
			abort();
	outbox_state(&reader, &state);
	return 0;
}
