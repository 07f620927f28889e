// SPDX-License-Identifier: GPL-2.0-only
#include "tape/segment/segment-trie-order.h"

#include "tape/segment/grouping.h"

/*
 * Computes a key for each stack that orders it among its siblings: the rank of its frame's
 * function, then the site.
 */
static int sibling_keys(const struct tape *tape, const struct dictionary *dictionary,
			uint32_t *ret_keys)
{
	size_t count = dictionary->functions.count;
	_cleanup_free_ uint32_t *by_rank = malloc(count * sizeof(*by_rank));
	_cleanup_free_ uint32_t *first = malloc(count * sizeof(*first));
	uint32_t sum = 0;

	if (!by_rank || !first)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		by_rank[dictionary->functions.items[i].rank] = i;
	for (size_t i = 0; i < count; i++) {
		first[by_rank[i]] = sum;
		sum += MAX(dictionary->functions.items[by_rank[i]].sites, 1u);
	}
	for (size_t i = 0; i < tape->stacks.count; i++) {
		const struct dictionary_place *place =
			&dictionary->places[tape->stacks.items[i].frame];

		ret_keys[i] = first[place->function] + place->site;
	}
	return 0;
}

/* Computes the depth-first numbers of the used stacks, which are sorted by parent and key. */
static void number_sorted(const struct tape *tape, const uint32_t *sorted, size_t count,
			  const uint32_t *sizes, uint32_t *next, uint32_t *ret_numbers)
{
	ret_numbers[0] = 0;
	next[0] = 1;
	for (size_t i = 0; i < count; i++) {
		uint32_t stack = sorted[i], parent = tape->stacks.items[stack].parent;

		ret_numbers[stack] = next[parent];
		next[parent] += sizes[stack];
		next[stack] = ret_numbers[stack] + 1;
	}
}

/*
 * Numbers the used stacks in a depth-first walk over all stacks of the tape. The caller frees
 * *ret_numbers.
 */
static int number_stacks(const struct tape *tape, const struct dictionary *dictionary,
			 uint32_t **ret_numbers)
{
	size_t stacks = tape->stacks.count, count = 0;
	_cleanup_free_ uint32_t *sorted = malloc(stacks * sizeof(uint32_t));
	_cleanup_free_ uint32_t *scratch = malloc(stacks * sizeof(uint32_t));
	_cleanup_free_ uint32_t *keys = calloc(stacks, sizeof(uint32_t));
	_cleanup_free_ uint32_t *numbers = calloc(stacks, sizeof(uint32_t));

	if (!sorted || !scratch || !keys || !numbers || sibling_keys(tape, dictionary, keys) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < stacks; i++)
		if (dictionary->used_stacks[i])
			sorted[count++] = i;
	group_by(sorted, scratch, count, keys);
	for (size_t i = 0; i < stacks; i++)
		keys[i] = tape->stacks.items[i].parent;
	group_by(sorted, scratch, count, keys);
	/* from here on, the keys are the sizes of subtrees */
	for (size_t i = 0; i < stacks; i++)
		keys[i] = dictionary->used_stacks[i];
	for (size_t i = stacks; i-- > 1;)
		keys[tape->stacks.items[i].parent] += keys[i];
	number_sorted(tape, sorted, count, keys, scratch, numbers);
	*ret_numbers = take_ptr(numbers);
	return 0;
}

int trie_sort_paths(const struct trie *trie, const struct tape *tape,
		    const struct dictionary *dictionary, uint32_t *ret_order)
{
	size_t count = trie->stack.count;
	_cleanup_free_ uint32_t *keys = malloc((count + 1) * sizeof(uint32_t));
	_cleanup_free_ uint32_t *scratch = malloc((count + 1) * sizeof(uint32_t));
	_cleanup_free_ uint32_t *numbers = NULL;

	if (!keys || !scratch || number_stacks(tape, dictionary, &numbers) < 0)
		return -ENOMEM;
	group_start(ret_order, count);
	for (size_t i = 0; i < count; i++)
		keys[i] = dictionary->functions.items[trie->function.items[i]].rank;
	group_by(ret_order, scratch, count, keys);
	for (size_t i = 0; i < count; i++)
		keys[i] = numbers[trie->stack.items[i]];
	group_by(ret_order, scratch, count, keys);
	group_by(ret_order, scratch, count, trie->comm.items);
	return 0;
}

int trie_order_by_rank(uint32_t *order, size_t count, const uint32_t *counts, const uint32_t *comms)
{
	_cleanup_free_ uint32_t *keys = malloc((count + 1) * sizeof(uint32_t));
	_cleanup_free_ uint32_t *scratch = malloc((count + 1) * sizeof(uint32_t));

	if (!keys || !scratch)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		keys[i] = UINT32_MAX - counts[i];
	group_by(order, scratch, count, keys);
	group_by(order, scratch, count, comms);
	return 0;
}
