// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/grouping.h"

#include <string.h>

void group_start(uint32_t *order, size_t count)
{
	for (size_t i = 0; i < count; i++)
		order[i] = i;
}

/* One pass of a radix sort, from `from` to `to`, by one byte of the key. */
static void group_pass(uint32_t *to, const uint32_t *from, size_t count, const uint32_t *keys,
		       unsigned int shift)
{
	uint32_t starts[256] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		starts[keys[from[i]] >> shift & 255]++;
	for (size_t i = 0; i < 256; i++) {
		uint32_t here = starts[i];

		starts[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[keys[from[i]] >> shift & 255]++] = from[i];
}

/*
 * Returns the bits in which the keys differ. A byte that all keys share needs no pass, and counting
 * it would take as long as sorting by it.
 */
static uint32_t find_differing(const uint32_t *order, size_t count, const uint32_t *keys)
{
	uint32_t any = 0, all = UINT32_MAX;

	for (size_t i = 0; i < count; i++) {
		any |= keys[order[i]];
		all &= keys[order[i]];
	}
	return any & ~all;
}

void group_by(uint32_t *order, uint32_t *scratch, size_t count, const uint32_t *keys)
{
	uint32_t differing = find_differing(order, count, keys);
	uint32_t *from = order, *to = scratch;

	for (unsigned int shift = 0; shift < 32; shift += 8) {
		uint32_t *passed = from;

		if (!(differing >> shift & 255))
			continue;
		group_pass(to, from, count, keys, shift);
		from = to;
		to = passed;
	}
	if (from != order)
		memcpy(order, from, count * sizeof(*order));
}
