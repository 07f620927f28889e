// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the state of an exporter. Writing a state that was read gives the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fleet/ship-state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the bytes with their checksum, so that changes of saved inputs are looked at. */
static int decode(const uint8_t *data, size_t size, struct ship_state *state, bool mend)
{
	_cleanup_(buffer_done) struct buffer copy = { 0 };

	if (!mend || size < 4)
		return ship_state_decode(data, size, state);
	buffer_bytes(&copy, data, size - 4);
	buffer_u32(&copy, crc32c(0, data, size - 4));
	return copy.failed ? -1 : ship_state_decode(copy.data, copy.size, state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int mend = 0; mend < 2; mend++) {
		_cleanup_(ship_state_done) struct ship_state state = { 0 };
		_cleanup_(buffer_done) struct buffer again = { 0 };

		if (decode(data, size, &state, mend) < 0)
			continue;
		ship_state_encode(&state, &again);
		if (again.failed || again.size != size || memcmp(again.data, data, size - 4) != 0)
			abort();
	}
	return 0;
}
