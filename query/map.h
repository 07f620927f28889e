/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * From numbers to numbers, for millions of look-ups: key and value lie side by side, so that one costs one cache line. Keys are not 0,
 * values come as 0. Zeroed is empty.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/table.h"

struct map_slot {
	uint64_t key; /* 0: free */
	uint64_t value;
};

struct map {
	struct map_slot *slots;
	size_t mask; /* slots - 1, or 0 with no slots */
	size_t count;
};

static inline void map_done(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}

static inline struct map_slot *map_probe(const struct map *map, uint64_t key)
{
	size_t at = hash_u64(key) & map->mask;

	while (map->slots[at].key && map->slots[at].key != key)
		at = (at + 1) & map->mask;
	return &map->slots[at];
}

static inline int map_grow(struct map *map)
{
	size_t size = map->mask ? 2 * (map->mask + 1) : 1024;
	struct map larger = { .slots = calloc(size, sizeof(*larger.slots)), .mask = size - 1 };

	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].key)
			*map_probe(&larger, map->slots[i].key) = map->slots[i];
	larger.count = map->count;
	map_done(map);
	*map = larger;
	return 0;
}

/* The value of a key, which is 0 when it is new; valid until the next call. NULL when memory is out. */
static inline uint64_t *map_at(struct map *map, uint64_t key)
{
	struct map_slot *slot = map->slots ? map_probe(map, key) : NULL;

	if (slot && slot->key)
		return &slot->value;
	if (!slot || map->count >= map->mask / 2) {
		if (map_grow(map) < 0)
			return NULL;
		slot = map_probe(map, key);
	}
	slot->key = key;
	map->count++;
	return &slot->value;
}
