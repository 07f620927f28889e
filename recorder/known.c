// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Open addressing with linear probing. Invariants:
 * (1) at most half of the slots are used, so every probe ends, and mostly where it began;
 * (2) no empty slot lies between the one that a key's place chooses and the one that it has.
 */

#define SLOTS_MIN 1024

void known_done(struct known *known)
{
	free(known->slots);
	*known = (struct known){ 0 };
}

static void empty(struct known *known)
{
	memset(known->slots, 0xff, (known->mask + 1) * sizeof(*known->slots));
}

void known_clear(struct known *known)
{
	if (known->slots)
		empty(known);
	known->count = 0;
}

static void put(struct known *known, const struct known_slot *slot)
{
	size_t at = slot->place & known->mask;

	while (known->slots[at].value != KNOWN_NONE)
		at = (at + 1) & known->mask;
	known->slots[at] = *slot;
}

static int grow(struct known *known)
{
	size_t size = known->slots ? 2 * (known->mask + 1) : SLOTS_MIN;
	struct known grown = { malloc(size * sizeof(*grown.slots)), size - 1, known->count };

	if (!grown.slots)
		return -ENOMEM;
	empty(&grown);
	for (size_t i = 0; known->slots && i <= known->mask; i++)
		if (known->slots[i].value != KNOWN_NONE)
			put(&grown, &known->slots[i]);
	known_done(known);
	*known = grown;
	return 0;
}

int known_add(struct known *known, struct known_key key, uint32_t value)
{
	struct known_slot slot = { key.check, key.place, value };

	if ((!known->slots || known->count >= (known->mask + 1) / 2) && grow(known) < 0)
		return -ENOMEM;
	put(known, &slot);
	known->count++;
	return 0;
}
