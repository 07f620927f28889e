/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Sorts items such as texts and lists, which are compared chunk by chunk. A chunk has 64 bits. The
 * sort reads the next chunk only for items whose earlier chunks are equal. No two items may be
 * equal.
 */

#include <stddef.h>
#include <stdint.h>

struct chunk_source {
	/* Returns the chunk of an item at a place; 0 beyond the end of the item. */
	uint64_t (*chunk)(const void *context, uint32_t item, uint32_t place);
	const void *context;
};

/* Sorts the items in place. Returns 0 or -ENOMEM. */
int chunk_sort(uint32_t *items, size_t count, const struct chunk_source *source);
