/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A hash table from keys, which the caller stores, to 32-bit values, mostly indexes into an array
 * of the keys. It uses open addressing with linear probing; a slot contains 32 bits of the hash and
 * the value. The caller compares keys: table_find() calls `equal` for each value with the same
 * hash. A zeroed struct is empty.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define TABLE_NONE UINT32_MAX

struct table_slot {
	uint32_t hash;
	uint32_t value;
};

struct table {
	struct table_slot *slots;
	/* The number of slots minus one; 0 without slots. */
	size_t mask;
	size_t count;
};

void table_done(struct table *table);
/* Removes all entries and keeps the memory. */
void table_clear(struct table *table);
/* Adds a value other than TABLE_NONE. Its key must not be in the table. Returns 0 or -ENOMEM. */
int table_add(struct table *table, uint64_t hash, uint32_t value);
/* Removes the entry with this hash and value, if any. */
void table_remove(struct table *table, uint64_t hash, uint32_t value);

static inline uint32_t table_fold(uint64_t hash)
{
	return hash ^ (hash >> 32);
}

/* Returns the value whose key is equal, or TABLE_NONE. Inline, so that `equal` is inlined, too. */
static inline uint32_t table_find(const struct table *table, uint64_t hash,
				  bool (*equal)(const void *context, uint32_t value,
						const void *key),
				  const void *context, const void *key)
{
	uint32_t short_hash = table_fold(hash);

	if (!table->slots)
		return TABLE_NONE;
	for (size_t at = short_hash & table->mask;; at = (at + 1) & table->mask) {
		const struct table_slot *slot = &table->slots[at];

		if (slot->value == TABLE_NONE)
			return TABLE_NONE;
		if (slot->hash == short_hash && equal(context, slot->value, key))
			return slot->value;
	}
}
