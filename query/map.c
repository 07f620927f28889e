// SPDX-License-Identifier: GPL-2.0-only
#include "query/map.h"

#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)

/*
 * Look-ups go all over the slots: in large pages they miss the TLB far less often, and there are 512 times fewer first touches. Where a
 * kernel does not give large ones, nothing is lost.
 */
static struct map_slot *new_slots(size_t count)
{
	size_t size = count * sizeof(struct map_slot);
	struct map_slot *slots;

	if (size < HUGE_PAGE)
		return calloc(count, sizeof(*slots));
	slots = aligned_alloc(HUGE_PAGE, size);
	if (!slots)
		return NULL;
	madvise(slots, size, MADV_HUGEPAGE);
	memset(slots, 0, size);
	return slots;
}

int map_grow(struct map *map)
{
	size_t size = map->mask ? 2 * (map->mask + 1) : 1024;
	struct map larger = { .slots = new_slots(size), .mask = size - 1 };

	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; map->slots && i <= map->mask; i++) {
		const struct map_slot *slot = &map->slots[i];

		if (slot->value)
			*map_probe(&larger, (struct map_key){ slot->a, slot->b }) = *slot;
	}
	larger.count = map->count;
	map_done(map);
	*map = larger;
	return 0;
}
