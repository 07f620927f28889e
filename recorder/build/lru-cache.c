// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/lru-cache.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct lru_cache_set) == 64, "a set is a line of the cache");

#define LARGE_PAGE (2u << 20)

static size_t lru_cache_size_of(const struct lru_cache *cache)
{
	return (cache->mask + 1) * sizeof(*cache->sets);
}

/*
 * Lookups are spread over the whole table, so large pages avoid many TLB misses. The table starts
 * at a large page, so the mapping is longer than the table. A forked process does not get the
 * table, because copy-on-write would split the large pages.
 */
int lru_cache_init(struct lru_cache *cache, size_t sets)
{
	size_t size = sets * sizeof(*cache->sets), mapped = size + LARGE_PAGE;
	uint8_t *memory =
		mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	*cache = (struct lru_cache){ 0 };
	if (memory == MAP_FAILED)
		return -ENOMEM;
	madvise(memory, mapped, MADV_DONTFORK);
	before = -(uintptr_t)memory % LARGE_PAGE;
	if (size >= LARGE_PAGE)
		madvise(memory + before, size, MADV_HUGEPAGE);
	*cache = (struct lru_cache){ (struct lru_cache_set *)(memory + before), sets - 1, memory };
	return 0;
}

void lru_cache_done(struct lru_cache *cache)
{
	if (cache->mapped)
		munmap(cache->mapped, lru_cache_size_of(cache) + LARGE_PAGE);
	*cache = (struct lru_cache){ 0 };
}

/* Keep the memory: the kernel may need time to find new large pages. */
void lru_cache_clear(struct lru_cache *cache)
{
	memset(cache->sets, 0, lru_cache_size_of(cache));
}

void lru_cache_put(struct lru_cache *cache, struct lru_cache_key key, uint32_t value)
{
	struct lru_cache_slot *slots = cache->sets[key.place & cache->mask].slots;

	/* lru_cache_find() moves a known key to the front. */
	if (lru_cache_find(cache, key) == LRU_CACHE_NONE)
		for (size_t way = LRU_CACHE_WAYS - 1; way > 0; way--)
			slots[way] = slots[way - 1];
	slots[0] = (struct lru_cache_slot){ key.key, key.more, value + 1 };
}

void lru_cache_offer(struct lru_cache *cache, struct lru_cache_key key, uint32_t value)
{
	struct lru_cache_slot *slots = cache->sets[key.place & cache->mask].slots;

	size_t way = 0;

	while (way < LRU_CACHE_WAYS - 1 && slots[way].number)
		way++;
	slots[way] = (struct lru_cache_slot){ key.key, key.more, value + 1 };
}
