/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * From hashes to numbers, for millions of look-ups: a hash is so long (96 bits of it are kept) that
 * it stands for what was hashed, and one look-up is one cache line. Values are not 0, so that 0
 * says that there is none. Zeroed is empty.
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
 * The key of what has `before` in front of `next`, itself a hash: of a path from the root on. Two
 * hashes that have nothing to do with each other, each with one multiplication that the next step
 * waits for.
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
	/* slots - 1, or 0 with no slots */
	size_t mask;
	size_t count;
};

void hash96_done(struct hash96 *map);

/* So that a look-up that comes soon does not wait. */
static inline void hash96_prefetch(const struct hash96 *map, struct hash96_key key)
{
	if (map->slots)
		__builtin_prefetch(&map->slots[key.a & map->mask]);
}

/* The slot with that key, or the free one where it belongs. There are slots. */
static inline struct hash96_slot *hash96_probe(const struct hash96 *map, struct hash96_key key)
{
	size_t at = key.a & map->mask;

	while (map->slots[at].value && (map->slots[at].a != key.a || map->slots[at].b != key.b))
		at = (at + 1) & map->mask;
	return &map->slots[at];
}

static inline uint32_t hash96_get(const struct hash96 *map, struct hash96_key key)
{
	return map->slots ? hash96_probe(map, key)->value : 0;
}

/* To twice as many slots. 0 or -ENOMEM. */
int hash96_grow(struct hash96 *map);

/* A key that is not there yet, with its value. 0 or -ENOMEM. */
static inline int hash96_put(struct hash96 *map, struct hash96_key key, uint32_t value)
{
	if (map->count >= map->mask - map->mask / 4 && hash96_grow(map) < 0)
		return -ENOMEM;
	*hash96_probe(map, key) = (struct hash96_slot){ key.a, key.b, value };
	map->count++;
	return 0;
}
