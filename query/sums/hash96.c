// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/hash96.h"

#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)

/*
 * Look-ups go all over the slots: in large pages they miss the TLB far less often, and there are
 * 512 times fewer first touches. Where a kernel does not give large ones, nothing is lost. They
 * come from the kernel as zeros.
 */
static struct hash96_slot *new_slots(size_t size)
{
	void *slots;

	if (size < HUGE_PAGE)
		return calloc(1, size);
	slots = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return NULL;
	madvise(slots, size, MADV_HUGEPAGE);
	return slots;
}

void hash96_done(struct hash96 *map)
{
	size_t size = map->mask ? (map->mask + 1) * sizeof(*map->slots) : 0;

	if (size < HUGE_PAGE)
		free(map->slots);
	else
		munmap(map->slots, size);
	*map = (struct hash96){ 0 };
}

int hash96_grow(struct hash96 *map)
{
	size_t count = map->mask ? 2 * (map->mask + 1) : 1024;
	struct hash96 larger = {
		.slots = new_slots(count * sizeof(struct hash96_slot)),
		.mask = count - 1,
	};

	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; map->slots && i <= map->mask; i++) {
		const struct hash96_slot *slot = &map->slots[i];

		if (slot->value)
			*hash96_probe(&larger, (struct hash96_key){ slot->a, slot->b }) = *slot;
	}
	larger.count = map->count;
	hash96_done(map);
	*map = larger;
	return 0;
}
