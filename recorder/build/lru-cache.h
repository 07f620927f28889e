/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A cache of fixed size with keys of 96 bits. Keys of the same set compete for its slots; a new key
 * evicts the least recently used one. A set fills one line of the CPU's cache, so that a lookup
 * costs at most one cache miss.
 */

#include <stddef.h>
#include <stdint.h>

#define LRU_CACHE_NONE UINT32_MAX
#define LRU_CACHE_WAYS 4

struct lru_cache_key {
	uint64_t key;
	/* The other 32 bits of the key. */
	uint32_t more;
	/* A hash of the key; its low bits choose the set. */
	uint32_t place;
};

struct lru_cache_slot {
	uint64_t key;
	uint32_t more;
	/* The value + 1; 0: the slot is empty. */
	uint32_t number;
};

struct lru_cache_set {
	/* The most recently used slot comes first. */
	_Alignas(64) struct lru_cache_slot slots[LRU_CACHE_WAYS];
};

/* A zeroed object is valid only for lru_cache_done(). */
struct lru_cache {
	struct lru_cache_set *sets;
	/* The number of sets - 1. */
	size_t mask;
	/* The mapping that holds the sets. */
	void *mapped;
};

/*
 * Prepares a cache. `sets` is a power of two. Allocates no memory before the first put or clear. A
 * forked process does not inherit the cache. Returns 0 or -ENOMEM.
 */
int lru_cache_init(struct lru_cache *cache, size_t sets);
void lru_cache_done(struct lru_cache *cache);
/* Removes all keys. */
void lru_cache_clear(struct lru_cache *cache);
/* Sets the value of a key and moves it to the front. `value` must not be LRU_CACHE_NONE. */
void lru_cache_put(struct lru_cache *cache, struct lru_cache_key key, uint32_t value);
/*
 * Adds a key that may never be looked up, so it will be the first of its set to be evicted. If the
 * key exists, it must have the same value.
 */
void lru_cache_offer(struct lru_cache *cache, struct lru_cache_key key, uint32_t value);

/* Prefetches the set of a key for a lookup that comes soon. */
static inline void lru_cache_prefetch(const struct lru_cache *cache, struct lru_cache_key key)
{
	__builtin_prefetch(&cache->sets[key.place & cache->mask]);
}

/* Returns the value of a key, or LRU_CACHE_NONE. */
static inline uint32_t lru_cache_find(struct lru_cache *cache, struct lru_cache_key key)
{
	struct lru_cache_slot *slots = cache->sets[key.place & cache->mask].slots, found;
	size_t way = 0;

	while (way < LRU_CACHE_WAYS && (slots[way].key != key.key || slots[way].more != key.more))
		way++;
	if (way == LRU_CACHE_WAYS)
		return LRU_CACHE_NONE;
	found = slots[way];
	for (; way > 0; way--)
		slots[way] = slots[way - 1];
	slots[0] = found;
	return found.number - 1;
}
