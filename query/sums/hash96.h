/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A table from hashes to numbers for millions of look-ups. With a key of 96 bits, equal keys mean
 * equal contents, and a look-up touches one cache line. A value is never 0, because 0 means not
 * found. A zeroed table is empty.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/table.h"

struct hash96_key {
	uint64_t a;
	uint32_t b;
};

/*
 * Extends the key of a path from the root by the hash of the next element. The key combines two
 * independent hashes, each with a single multiplication on the critical path.
 */
static inline struct hash96_key hash96_key_add(struct hash96_key before, uint64_t next)
{
	uint64_t a = (before.a ^ next) * 0xd6e8feb86659fd93ull;

	return (struct hash96_key){ a ^ a >> 32,
				    (before.b + (uint32_t)(next >> 32)) * 0x85ebca6bu };
}

struct hash96_slot {
	uint64_t a;
	uint32_t b;
	/* 0: free */
	uint32_t value;
};

struct hash96 {
	struct hash96_slot *slots;
	/* number of slots - 1, or 0 without slots */
	size_t mask;
	size_t count;
};

void hash96_done(struct hash96 *table);

/* Prefetches the slot of a key that will be looked up soon. */
static inline void hash96_prefetch(const struct hash96 *table, struct hash96_key key)
{
	if (table->slots)
		__builtin_prefetch(&table->slots[key.a & table->mask]);
}

/* Returns the slot with this key, or the free slot where it belongs. The table must have slots. */
static inline struct hash96_slot *hash96_probe(const struct hash96 *table, struct hash96_key key)
{
	size_t at = key.a & table->mask;

	while (table->slots[at].value &&
	       (table->slots[at].a != key.a || table->slots[at].b != key.b))
		at = (at + 1) & table->mask;
	return &table->slots[at];
}

static inline uint32_t hash96_get(const struct hash96 *table, struct hash96_key key)
{
	return table->slots ? hash96_probe(table, key)->value : 0;
}

/* Doubles the number of slots. Returns 0 or -ENOMEM. */
int hash96_grow(struct hash96 *table);

/* Adds a key that is not in the table. Returns 0 or -ENOMEM. */
static inline int hash96_put(struct hash96 *table, struct hash96_key key, uint32_t value)
{
	if (table->count >= table->mask - table->mask / 4 && hash96_grow(table) < 0)
		return -ENOMEM;
	*hash96_probe(table, key) = (struct hash96_slot){ key.a, key.b, value };
	table->count++;
	return 0;
}
