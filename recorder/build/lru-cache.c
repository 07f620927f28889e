// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/build/lru-cache.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct lru_cache_set) == 64, "a set is a line of the cache");

#define LARGE_PAGE (2u << 20)

static size_t size_of(const struct lru_cache *recent)
{
	return (recent->mask + 1) * sizeof(*recent->sets);
}

/*
 * Looks go all over the table: in large pages they miss the TLB far less often. They begin where
 * one can, which is why more is mapped than is used, and are had when they are first written to.
 * Who was forked has none of it: pages that are shared would be taken apart when they are written
 * to.
 */
int lru_cache_init(struct lru_cache *recent, size_t sets)
{
	size_t size = sets * sizeof(*recent->sets), mapped = size + LARGE_PAGE;
	uint8_t *memory =
		mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	*recent = (struct lru_cache){ 0 };
	if (memory == MAP_FAILED)
		return -ENOMEM;
	madvise(memory, mapped, MADV_DONTFORK);
	before = -(uintptr_t)memory % LARGE_PAGE;
	if (size >= LARGE_PAGE)
		madvise(memory + before, size, MADV_HUGEPAGE);
	*recent = (struct lru_cache){ (struct lru_cache_set *)(memory + before), sets - 1, memory };
	return 0;
}

void lru_cache_done(struct lru_cache *recent)
{
	if (recent->mapped)
		munmap(recent->mapped, size_of(recent) + LARGE_PAGE);
	*recent = (struct lru_cache){ 0 };
}

/* The memory stays: who gives large pages back may wait for the next ones. */
void lru_cache_clear(struct lru_cache *recent)
{
	memset(recent->sets, 0, size_of(recent));
}

void lru_cache_put(struct lru_cache *recent, struct lru_cache_key key, uint32_t value)
{
	struct lru_cache_slot *slots = recent->sets[key.place & recent->mask].slots;

	/* what is there already comes to the front by that */
	if (lru_cache_find(recent, key) == LRU_CACHE_NONE)
		for (size_t way = LRU_CACHE_WAYS - 1; way > 0; way--)
			slots[way] = slots[way - 1];
	slots[0] = (struct lru_cache_slot){ key.key, key.more, value + 1 };
}

void lru_cache_offer(struct lru_cache *recent, struct lru_cache_key key, uint32_t value)
{
	struct lru_cache_slot *slots = recent->sets[key.place & recent->mask].slots;

	size_t way = 0;

	while (way < LRU_CACHE_WAYS - 1 && slots[way].number)
		way++;
	slots[way] = (struct lru_cache_slot){ key.key, key.more, value + 1 };
}
