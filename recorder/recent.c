// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"

_Static_assert(sizeof(struct recent_set) == 64, "a set is a line of the cache");

#define LARGE_PAGE (2u << 20)

static size_t size_of(const struct recent *recent)
{
	return (recent->mask + 1) * sizeof(*recent->sets);
}

/*
 * Looks go all over the table: in large pages they miss the TLB far less often, a twentieth of what a sample takes. Where a kernel does not give large
 * ones, nothing is lost.
 */
int recent_init(struct recent *recent, size_t sets)
{
	size_t size = sets * sizeof(*recent->sets);
	void *memory = aligned_alloc(MIN(size, (size_t)LARGE_PAGE), size);

	*recent = (struct recent){ 0 };
	if (!memory)
		return -ENOMEM;
	if (size >= LARGE_PAGE)
		madvise(memory, size, MADV_HUGEPAGE);
	*recent = (struct recent){ memory, sets - 1 };
	recent_clear(recent);
	return 0;
}

void recent_done(struct recent *recent)
{
	free(recent->sets);
	*recent = (struct recent){ 0 };
}

/* The memory stays: who gives large pages back may wait for the next ones. */
void recent_clear(struct recent *recent)
{
	memset(recent->sets, 0, size_of(recent));
}

void recent_put(struct recent *recent, struct recent_key key, uint32_t value)
{
	struct recent_slot *slots = recent->sets[key.place & recent->mask].slots;

	/* what is there already comes to the front by that */
	if (recent_find(recent, key) == RECENT_NONE)
		for (size_t way = RECENT_WAYS - 1; way > 0; way--)
			slots[way] = slots[way - 1];
	slots[0] = (struct recent_slot){ key.key, key.more, value + 1 };
}

void recent_offer(struct recent *recent, struct recent_key key, uint32_t value)
{
	struct recent_slot *slots = recent->sets[key.place & recent->mask].slots;

	size_t way = 0;

	while (way < RECENT_WAYS - 1 && slots[way].number)
		way++;
	slots[way] = (struct recent_slot){ key.key, key.more, value + 1 };
}
