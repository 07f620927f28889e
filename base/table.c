// SPDX-License-Identifier: GPL-2.0-only
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Invariants:
 * (1) a slot is empty when its value is TABLE_NONE;
 * (2) at most 3/4 of the slots are full, so every probe ends;
 * (3) no empty slot lies between the place that an entry's hash chooses and the entry.
 */

void table_done(struct table *table)
{
	free(table->slots);
	*table = (struct table){ 0 };
}

void table_clear(struct table *table)
{
	if (table->slots)
		memset(table->slots, 0xff, (table->mask + 1) * sizeof(*table->slots));
	table->count = 0;
}

static void table_place(struct table *table, struct table_slot slot)
{
	size_t at = slot.hash & table->mask;

	while (table->slots[at].value != TABLE_NONE)
		at = (at + 1) & table->mask;
	table->slots[at] = slot;
}

static int table_resize(struct table *table, size_t size)
{
	struct table_slot *old = table->slots;
	size_t old_size = old ? table->mask + 1 : 0;
	struct table_slot *slots = malloc(size * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, size * sizeof(*slots));
	table->slots = slots;
	table->mask = size - 1;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].value != TABLE_NONE)
			table_place(table, old[i]);
	free(old);
	return 0;
}

int table_add(struct table *table, uint64_t hash, uint32_t value)
{
	size_t size = table->slots ? table->mask + 1 : 0;

	if (table->count + 1 > size / 4 * 3) {
		int r = table_resize(table, size ? size * 2 : 16);

		if (r < 0)
			return r;
	}
	table_place(table, (struct table_slot){ .hash = table_fold(hash), .value = value });
	table->count++;
	return 0;
}

void table_remove(struct table *table, uint64_t hash, uint32_t value)
{
	size_t hole;

	if (!table->slots)
		return;
	for (hole = table_fold(hash) & table->mask; table->slots[hole].value != value;
	     hole = (hole + 1) & table->mask)
		if (table->slots[hole].value == TABLE_NONE)
			return;
	table->count--;
	/*
	 * move entries whose probing passed the freed slot into that slot, so that (3) holds
	 * without tombstones
	 */
	for (size_t at = (hole + 1) & table->mask; table->slots[at].value != TABLE_NONE;
	     at = (at + 1) & table->mask) {
		size_t home = table->slots[at].hash & table->mask;

		if (((at - home) & table->mask) >= ((at - hole) & table->mask)) {
			table->slots[hole] = table->slots[at];
			hole = at;
		}
	}
	table->slots[hole].value = TABLE_NONE;
}
