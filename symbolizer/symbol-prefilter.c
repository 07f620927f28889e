// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/symbol-prefilter.h"

#include "base/cleanup.h"

#define NONE UINT64_MAX

int symbol_prefilter_init(struct symbol_prefilter *prefilter, const struct addresses *addresses)
{
	if (array_reserve(&prefilter->open, addresses->open) < 0 ||
	    array_reserve(&prefilter->last, addresses->open + 1) < 0 ||
	    array_reserve(&prefilter->covers, addresses->open) < 0 ||
	    array_reserve(&prefilter->behind, addresses->open) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < addresses->list.count; i++)
		if (addresses->list.items[i].state == ADDRESSES_OPEN)
			prefilter->open.items[prefilter->open.count++] =
				addresses->list.items[i].address;
	for (size_t i = 0; i <= prefilter->open.count; i++)
		prefilter->last.items[prefilter->last.count++] = NONE;
	for (size_t i = 0; i < prefilter->open.count; i++) {
		for (size_t k = 0; k < COVERS_KEPT; k++)
			prefilter->covers.items[i].starts[k] = NONE;
		prefilter->behind.items[i] = false;
	}
	prefilter->covers.count = prefilter->behind.count = prefilter->open.count;
	return 0;
}

void symbol_prefilter_done(struct symbol_prefilter *prefilter)
{
	array_done(&prefilter->open);
	array_done(&prefilter->last);
	array_done(&prefilter->covers);
	array_done(&prefilter->behind);
	array_done(&prefilter->starts);
}

/*
 * Returns how many of the sorted numbers are below a value. Avoids branches that depend on the
 * numbers, because the CPU cannot predict such branches.
 */
static size_t count_below(const uint64_t *items, size_t count, uint64_t value)
{
	const uint64_t *at = items;

	while (count > 1) {
		size_t half = count / 2;

		at += at[half - 1] < value ? half : 0;
		count -= half;
	}
	return at - items + (count && *at < value);
}

/* Keeps the largest starts, each of them once. */
static void keep_cover(struct symbol_covers *covers, uint64_t start)
{
	for (size_t k = 0; k < COVERS_KEPT; k++) {
		uint64_t other = covers->starts[k];

		if (other == start)
			return;
		if (other != NONE && other > start)
			continue;
		covers->starts[k] = start;
		if (other == NONE)
			return;
		start = other;
	}
}

void symbol_prefilter_note(struct symbol_prefilter *prefilter, uint64_t start, uint64_t size)
{
	size_t next = count_below(prefilter->open.items, prefilter->open.count, start);
	uint64_t *last = &prefilter->last.items[next];

	if (*last == NONE || *last < start)
		*last = start;
	if (next && prefilter->open.items[next - 1] + 1 == start)
		prefilter->behind.items[next - 1] = true;
	for (; next < prefilter->open.count && prefilter->open.items[next] - start < size; next++) {
		if (!work_spend(prefilter->budget, 1))
			return;
		keep_cover(&prefilter->covers.items[next], start);
	}
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

int symbol_prefilter_sort(struct symbol_prefilter *prefilter)
{
	size_t most = prefilter->last.count + prefilter->open.count * (COVERS_KEPT + 1);
	uint64_t *starts;
	size_t count = 0, kept = 0;

	if (array_reserve(&prefilter->starts, most) < 0)
		return -ENOMEM;
	starts = prefilter->starts.items;
	for (size_t i = 0; i < prefilter->last.count; i++)
		if (prefilter->last.items[i] != NONE)
			starts[count++] = prefilter->last.items[i];
	for (size_t i = 0; i < prefilter->open.count; i++) {
		const struct symbol_covers *covers = &prefilter->covers.items[i];

		if (prefilter->behind.items[i])
			starts[count++] = prefilter->open.items[i] + 1;
		for (size_t k = 0; k < COVERS_KEPT && covers->starts[k] != NONE; k++)
			starts[count++] = covers->starts[k];
	}
	if (count)
		qsort(starts, count, sizeof(*starts), compare_numbers);
	for (size_t i = 0; i < count; i++)
		if (!kept || starts[kept - 1] != starts[i])
			starts[kept++] = starts[i];
	prefilter->starts.count = kept;
	return 0;
}

bool symbol_prefilter_keeps(const struct symbol_prefilter *prefilter, uint64_t start)
{
	size_t at = count_below(prefilter->starts.items, prefilter->starts.count, start);

	return at < prefilter->starts.count && prefilter->starts.items[at] == start;
}
