// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/recent.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct recent_set) == 64, "a set is a line of the cache");

static size_t size_of(const struct recent *recent)
{
	return (recent->mask + 1) * sizeof(*recent->sets);
}

int recent_init(struct recent *recent, size_t sets)
{
	void *memory = mmap(NULL, sets * sizeof(*recent->sets), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*recent = (struct recent){ 0 };
	if (memory == MAP_FAILED)
		return -ENOMEM;
	*recent = (struct recent){ memory, sets - 1 };
	return 0;
}

void recent_done(struct recent *recent)
{
	if (recent->sets)
		munmap(recent->sets, size_of(recent));
	*recent = (struct recent){ 0 };
}

void recent_clear(struct recent *recent)
{
	/* of memory that is locked, it is refused */
	if (madvise(recent->sets, size_of(recent), MADV_DONTNEED) < 0)
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
