/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Sorts what compares chunk by chunk, as texts and lists do: 64 bits of an item are got at a time,
 * and those of the next chunk only where items agree so far. No two items may be the same.
 */

#include <stddef.h>
#include <stdint.h>

struct chunk_source {
	/* What an item has in that place; 0 from behind its end on. */
	uint64_t (*chunk)(const void *context, uint32_t item, uint32_t place);
	const void *context;
};

/* 0 or -ENOMEM. */
int chunk_sort(uint32_t *items, size_t count, const struct chunk_source *source);
