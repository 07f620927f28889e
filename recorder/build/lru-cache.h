/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What was found lately, by a key of 96 bits, in memory that does not grow. Keys that choose the
 * same set, a line of the cache, push one another out: the one that was not asked for the longest
 * time goes. All that a look needs lies in that line, as it is asked for again after a while, when
 * no cache has any of it.
 */

#include <stddef.h>
#include <stdint.h>

#define LRU_CACHE_NONE UINT32_MAX
#define LRU_CACHE_WAYS 4

struct lru_cache_key {
	uint64_t key;
	/* the rest of it */
	uint32_t more;
	/* a hash of both, whose low bits choose the set */
	uint32_t place;
};

struct lru_cache_slot {
	uint64_t key;
	uint32_t more;
	/* the value + 1, 0: none */
	uint32_t number;
};

struct lru_cache_set {
	_Alignas(64) struct lru_cache_slot
		/* the one that was asked for last is the first */
		slots[LRU_CACHE_WAYS];
};

/* Zeroed is empty, and only to be given to lru_cache_done(). */
struct lru_cache {
	struct lru_cache_set *sets;
	/* sets - 1 */
	size_t mask;
	/* the memory that they are in */
	void *mapped;
};

/* `sets` is a power of two. Takes no memory before the first put or clear, and processes that are
 * forked have none of it. 0 or -ENOMEM. */
int lru_cache_init(struct lru_cache *recent, size_t sets);
void lru_cache_done(struct lru_cache *recent);
/* Forgets all. */
void lru_cache_clear(struct lru_cache *recent);
/* A key that is there takes the value. value must not be RECENT_NONE. */
void lru_cache_put(struct lru_cache *recent, struct lru_cache_key key, uint32_t value);
/*
 * The same for a key of which it is not known whether it will be asked for: it is the first that
 * makes room. If it is there already, it must have the same value.
 */
void lru_cache_offer(struct lru_cache *recent, struct lru_cache_key key, uint32_t value);

/* A look is to come soon. */
static inline void lru_cache_prefetch(const struct lru_cache *recent, struct lru_cache_key key)
{
	__builtin_prefetch(&recent->sets[key.place & recent->mask]);
}

/* The value, or RECENT_NONE. */
static inline uint32_t lru_cache_find(struct lru_cache *recent, struct lru_cache_key key)
{
	struct lru_cache_slot *slots = recent->sets[key.place & recent->mask].slots, found;
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
