/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * From hashes to numbers, for millions of look-ups: a hash is so long (96 bits of it are kept) that it stands for what was hashed, and
 * one look-up is one cache line. Values are not 0, so that 0 says that there is none. Zeroed is empty.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/table.h"

struct map_key {
	uint64_t a;
	uint32_t b;
};

/*
 * The key of what has `before` in front of `next`, itself a hash: of a path from the root on. Two hashes that have nothing to do with each
 * other, each with one multiplication that the next step waits for.
 */
static inline struct map_key map_key_add(struct map_key before, uint64_t next)
{
	uint64_t a = (before.a ^ next) * 0xd6e8feb86659fd93ull;

	return (struct map_key){ a ^ a >> 32, (before.b + (uint32_t)(next >> 32)) * 0x85ebca6bu };
}

struct map_slot {
	uint64_t a;
	uint32_t b;
	uint32_t value; /* 0: free */
};

struct map {
	struct map_slot *slots;
	size_t mask; /* slots - 1, or 0 with no slots */
	size_t count;
};

void map_done(struct map *map);

/* So that a look-up that comes soon does not wait. */
static inline void map_prefetch(const struct map *map, struct map_key key)
{
	if (map->slots)
		__builtin_prefetch(&map->slots[key.a & map->mask]);
}

/* The slot with that key, or the free one where it belongs. There are slots. */
static inline struct map_slot *map_probe(const struct map *map, struct map_key key)
{
	size_t at = key.a & map->mask;

	while (map->slots[at].value && (map->slots[at].a != key.a || map->slots[at].b != key.b))
		at = (at + 1) & map->mask;
	return &map->slots[at];
}

static inline uint32_t map_get(const struct map *map, struct map_key key)
{
	return map->slots ? map_probe(map, key)->value : 0;
}

/* To twice as many slots. 0 or -ENOMEM. */
int map_grow(struct map *map);

/* A key that is not there yet, with its value. 0 or -ENOMEM. */
static inline int map_put(struct map *map, struct map_key key, uint32_t value)
{
	if (map->count >= map->mask - map->mask / 4 && map_grow(map) < 0)
		return -ENOMEM;
	*map_probe(map, key) = (struct map_slot){ key.a, key.b, value };
	map->count++;
	return 0;
}
