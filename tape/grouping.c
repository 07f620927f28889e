// SPDX-License-Identifier: GPL-2.0-only
#include "tape/grouping.h"

#include <string.h>

void group_start(uint32_t *order, size_t count)
{
	for (size_t i = 0; i < count; i++)
		order[i] = i;
}

/* One pass of a radix sort: from `from` to `to` by one byte of the key, of which `starts` says how often each value comes. */
static void group_pass(uint32_t *to, const uint32_t *from, size_t count, const uint32_t *keys,
	unsigned int shift, uint32_t starts[256])
{
	uint32_t sum = 0;

	for (size_t i = 0; i < 256; i++) {
		uint32_t here = starts[i];

		starts[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[keys[from[i]] >> shift & 255]++] = from[i];
}

void group_by(uint32_t *order, uint32_t *scratch, size_t count, const uint32_t *keys)
{
	uint32_t counts[4][256] = { 0 };
	uint32_t *from = order, *to = scratch;

	if (!count)
		return;
	for (size_t i = 0; i < count; i++) {
		uint32_t key = keys[order[i]];

		for (unsigned int byte = 0; byte < 4; byte++)
			counts[byte][key >> (8 * byte) & 255]++;
	}
	for (unsigned int byte = 0; byte < 4; byte++) {
		uint32_t *passed;

		/* a byte that all keys share orders nothing */
		if (counts[byte][keys[order[0]] >> (8 * byte) & 255] == count)
			continue;
		group_pass(to, from, count, keys, 8 * byte, counts[byte]);
		passed = from;
		from = to;
		to = passed;
	}
	if (from != order)
		memcpy(order, from, count * sizeof(*order));
}
