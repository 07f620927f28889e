/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A stable natural merge sort by a number in each item. The sort is fast for a few sorted runs,
 * such as records from several ring buffers. The code is in the header, so that the compiler knows
 * the sizes.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t sort_key(const uint8_t *items, size_t size, size_t key_at, size_t item)
{
	uint64_t key;

	memcpy(&key, items + item * size + key_at, sizeof(key));
	return key;
}

/* Returns the end of the sorted run that begins at `start`, which is below `count`. */
static inline size_t sort_run_end(const uint8_t *items, size_t count, size_t size, size_t key_at,
				  size_t start)
{
	uint64_t last = sort_key(items, size, key_at, start), key;
	size_t end;

	for (end = start + 1; end < count; end++, last = key) {
		key = sort_key(items, size, key_at, end);
		if (key < last)
			break;
	}
	return end;
}

static inline void sort_merge(uint8_t *to, const uint8_t *from, size_t size, size_t key_at,
			      size_t start, size_t middle, size_t end)
{
	size_t left = start, right = middle;

	for (size_t at = start; at < end; at++) {
		size_t item;

		if (right == end || (left < middle && sort_key(from, size, key_at, left) <=
							      sort_key(from, size, key_at, right)))
			item = left++;
		else
			item = right++;
		memcpy(to + at * size, from + item * size, size);
	}
}

/* Returns whether the items are sorted. Sorted items need no scratch memory. */
static inline int sort_is_sorted(const void *items, size_t count, size_t size, size_t key_at)
{
	return !count || sort_run_end(items, count, size, key_at, 0) == count;
}

/*
 * Sorts `count` items of `size` bytes by the uint64_t at key_at in each. `scratch` has space for
 * all items.
 */
static inline void sort_by_number(void *items, void *scratch, size_t count, size_t size,
				  size_t key_at)
{
	uint8_t *from = items, *to = scratch;

	while (!sort_is_sorted(from, count, size, key_at)) {
		uint8_t *sorted = to;

		for (size_t start = 0; start < count;) {
			size_t middle = sort_run_end(from, count, size, key_at, start), end;

			end = middle < count ? sort_run_end(from, count, size, key_at, middle)
					     : count;
			sort_merge(sorted, from, size, key_at, start, middle, end);
			start = end;
		}
		to = from;
		from = sorted;
	}
	if (from != items)
		memcpy(items, from, count * size);
}

/* Returns how many of the sorted items have a key below a number. */
static inline size_t sort_count_below(const void *items, size_t count, size_t size, size_t key_at,
				      uint64_t number)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sort_key(items, size, key_at, middle) < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* These macros do the same for an array (base/array.h) and a uint64_t member. */
#define sort_array(array, scratch, member)                                                 \
	sort_by_number((array)->items, (scratch), (array)->count, sizeof(*(array)->items), \
		       offsetof(__typeof__(*(array)->items), member))
#define sort_array_is_sorted(array, member)                                     \
	sort_is_sorted((array)->items, (array)->count, sizeof(*(array)->items), \
		       offsetof(__typeof__(*(array)->items), member))
#define sort_array_count_below(array, member, number)                             \
	sort_count_below((array)->items, (array)->count, sizeof(*(array)->items), \
			 offsetof(__typeof__(*(array)->items), member), (number))
