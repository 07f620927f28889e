// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/symbol-prefilter.h"

#include "base/cleanup.h"

#define NONE UINT64_MAX

int symbol_prefilter_init(struct symbol_prefilter *sieve, const struct addresses *wanted)
{
	if (array_reserve(&sieve->addresses, wanted->open) < 0 ||
	    array_reserve(&sieve->last, wanted->open + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < wanted->addresses.count; i++)
		if (wanted->addresses.items[i].state == ADDRESSES_OPEN)
			sieve->addresses.items[sieve->addresses.count++] =
				wanted->addresses.items[i].address;
	for (size_t i = 0; i <= sieve->addresses.count; i++)
		sieve->last.items[sieve->last.count++] = NONE;
	return 0;
}

void symbol_prefilter_done(struct symbol_prefilter *sieve)
{
	array_done(&sieve->addresses);
	array_done(&sieve->last);
	array_done(&sieve->starts);
}

/* How many of sorted numbers are below one. Without a branch that depends on them: they cannot be
 * foreseen. */
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

int symbol_prefilter_note(struct symbol_prefilter *sieve, uint64_t start, uint64_t size)
{
	size_t next = count_below(sieve->addresses.items, sieve->addresses.count, start);
	uint64_t *last = &sieve->last.items[next];

	if (*last == NONE || *last < start)
		*last = start;
	if (next == sieve->addresses.count || sieve->addresses.items[next] - start >= size)
		return 0;
	return array_push(&sieve->starts, start);
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

int symbol_prefilter_sort(struct symbol_prefilter *sieve)
{
	uint64_t *starts;
	size_t kept = 0;

	if (array_reserve(&sieve->starts, sieve->starts.count + sieve->last.count) < 0)
		return -ENOMEM;
	starts = sieve->starts.items;
	for (size_t i = 0; i < sieve->last.count; i++)
		if (sieve->last.items[i] != NONE)
			starts[sieve->starts.count++] = sieve->last.items[i];
	qsort(starts, sieve->starts.count, sizeof(*starts), compare_numbers);
	for (size_t i = 0; i < sieve->starts.count; i++)
		if (!kept || starts[kept - 1] != starts[i])
			starts[kept++] = starts[i];
	sieve->starts.count = kept;
	return 0;
}

bool symbol_prefilter_keeps(const struct symbol_prefilter *sieve, uint64_t start)
{
	size_t at = count_below(sieve->starts.items, sieve->starts.count, start);

	return at < sieve->starts.count && sieve->starts.items[at] == start;
}
