// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/maps.h"

int maps_new(uint64_t *next_version, struct maps **ret_maps)
{
	struct maps *maps = calloc(1, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	maps->references = 1;
	maps->version = (*next_version)++;
	*ret_maps = maps;
	return 0;
}

struct maps *maps_ref(struct maps *maps)
{
	if (maps)
		maps->references++;
	return maps;
}

struct maps *maps_unref(struct maps *maps)
{
	if (maps && --maps->references == 0) {
		array_done(&maps->list);
		free(maps);
	}
	return NULL;
}

/* Makes a copy of *maps if others share it, so that the caller may change it. */
static int maps_own(struct maps **maps, uint64_t *next_version)
{
	struct maps *copy;
	int r;

	if ((*maps)->references == 1) {
		(*maps)->version = (*next_version)++;
		return 0;
	}
	r = maps_new(next_version, &copy);
	if (r < 0)
		return r;
	if (array_reserve(&copy->list, (*maps)->list.count + 2) < 0) {
		maps_unref(copy);
		return -ENOMEM;
	}
	if ((*maps)->list.count)
		memcpy(copy->list.items, (*maps)->list.items,
		       (*maps)->list.count * sizeof(*copy->list.items));
	copy->list.count = (*maps)->list.count;
	maps_unref(*maps);
	*maps = copy;
	return 0;
}

/* Returns the index of the first mapping that ends after an address. */
static size_t maps_at(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->list.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Replaces the mappings in [from, to) by `count` others. The caller has reserved the memory. */
static void maps_replace(struct maps *maps, size_t from, size_t to, const struct mapping *with,
			 size_t count)
{
	struct mapping *items = maps->list.items;

	memmove(items + from + count, items + to, (maps->list.count - to) * sizeof(*items));
	memcpy(items + from, with, count * sizeof(*items));
	maps->list.count += count - (to - from);
}

/* Replaces [start, end) by a mapping, or by nothing. */
static int maps_put(struct maps **maps, uint64_t *next_version, uint64_t start, uint64_t end,
		    const struct mapping *mapping)
{
	struct mapping pieces[3];
	size_t count = 0, from, to;
	const struct mapping *old;
	int r;

	if (start >= end)
		return 0;
	r = maps_own(maps, next_version);
	if (r < 0)
		return r;
	r = array_reserve(&(*maps)->list, (*maps)->list.count + 2);
	if (r < 0)
		return r;
	from = to = maps_at(*maps, start);
	while (to < (*maps)->list.count && (*maps)->list.items[to].start < end)
		to++;
	old = &(*maps)->list.items[from];
	if (from < to && old->start < start) {
		pieces[count] = *old;
		pieces[count++].end = start;
	}
	if (mapping)
		pieces[count++] = *mapping;
	old = &(*maps)->list.items[to] - 1;
	if (from < to && old->end > end) {
		pieces[count] = *old;
		pieces[count].offset += end - old->start;
		pieces[count++].start = end;
	}
	maps_replace(*maps, from, to, pieces, count);
	return 0;
}

int maps_insert(struct maps **maps, uint64_t *next_version, const struct mapping *mapping)
{
	return maps_put(maps, next_version, mapping->start, mapping->end, mapping);
}

int maps_remove(struct maps **maps, uint64_t *next_version, uint64_t start, uint64_t end)
{
	return maps_put(maps, next_version, start, end, NULL);
}

const struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
	size_t at = maps_at(maps, address);

	if (at == maps->list.count || maps->list.items[at].start > address)
		return NULL;
	return &maps->list.items[at];
}
