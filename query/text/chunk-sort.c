// SPDX-License-Identifier: GPL-2.0-only
/*
 * Quicksort with three parts: items with a chunk below the pivot, with an equal chunk, and with a
 * chunk above it. Items with an equal chunk are then compared by their next chunk. The loop handles
 * the largest part, so the depth of the recursion is at most the logarithm of the count.
 */
#include "query/text/chunk-sort.h"

#include <errno.h>

#include "base/cleanup.h"

#define SMALL 12

struct chunked {
	uint64_t chunk;
	uint32_t item;
};

/* Items that agree in all chunks before `place`. */
struct part {
	struct chunked *items;
	size_t count;
	uint32_t place;
};

static void chunk_sort_swap(struct chunked *a, struct chunked *b)
{
	struct chunked kept = *a;

	*a = *b;
	*b = kept;
}

static void get_chunks(const struct chunk_source *source, const struct part *part)
{
	for (size_t i = 0; i < part->count; i++)
		part->items[i].chunk =
			source->chunk(source->context, part->items[i].item, part->place);
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c)
{
	return MAX(MIN(a, b), MIN(MAX(a, b), c));
}

static uint64_t choose_pivot(const struct part *part)
{
	const struct chunked *items = part->items;
	size_t step = (part->count - 1) / 8;
	uint64_t middles[3];

	for (size_t i = 0; i < 3; i++)
		middles[i] = middle_of(items[(3 * i) * step].chunk, items[(3 * i + 1) * step].chunk,
				       items[(3 * i + 2) * step].chunk);
	return middle_of(middles[0], middles[1], middles[2]);
}

static void chunk_sort_split(const struct part *part, struct part parts[3])
{
	struct chunked *items = part->items;
	uint64_t pivot = choose_pivot(part);
	size_t less = 0, at = 0, more = part->count;

	while (at < more) {
		uint64_t chunk = items[at].chunk;

		if (chunk < pivot)
			chunk_sort_swap(&items[less++], &items[at++]);
		else if (chunk > pivot)
			chunk_sort_swap(&items[at], &items[--more]);
		else
			at++;
	}
	parts[0] = (struct part){ items, less, part->place };
	parts[1] = (struct part){ items + less, pivot ? more - less : 0, part->place + 1 };
	parts[2] = (struct part){ items + more, part->count - more, part->place };
}

static int chunk_sort_compare(const struct chunk_source *source, const struct chunked *a,
			      const struct chunked *b, uint32_t place)
{
	uint64_t left = a->chunk, right = b->chunk;

	while (left == right && left) {
		place++;
		left = source->chunk(source->context, a->item, place);
		right = source->chunk(source->context, b->item, place);
	}
	return left < right ? -1 : left > right;
}

static void sort_small(const struct chunk_source *source, const struct part *part)
{
	for (size_t i = 1; i < part->count; i++) {
		struct chunked item = part->items[i];
		size_t at = i;

		for (;
		     at && chunk_sort_compare(source, &item, &part->items[at - 1], part->place) < 0;
		     at--)
			part->items[at] = part->items[at - 1];
		part->items[at] = item;
	}
}

static void sort_part(const struct chunk_source *source, struct part part)
{
	while (part.count > SMALL) {
		struct part parts[3];
		size_t largest = 0;

		chunk_sort_split(&part, parts);
		get_chunks(source, &parts[1]);
		for (size_t i = 1; i < 3; i++)
			if (parts[i].count > parts[largest].count)
				largest = i;
		for (size_t i = 0; i < 3; i++)
			if (i != largest)
				sort_part(source, parts[i]);
		part = parts[largest];
	}
	sort_small(source, &part);
}

int chunk_sort(uint32_t *items, size_t count, const struct chunk_source *source)
{
	_cleanup_free_ struct chunked *list = malloc((count + 1) * sizeof(*list));
	struct part all = { .items = list, .count = count };

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list[i].item = items[i];
	get_chunks(source, &all);
	sort_part(source, all);
	for (size_t i = 0; i < count; i++)
		items[i] = list[i].item;
	return 0;
}
