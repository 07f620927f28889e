// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/patterns/anchors.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

#define BLOCK 3 /* bytes that index the table */
#define WINDOW_MAX 12

int anchors_add(struct anchors *anchors, const char *text, size_t size, uint32_t value)
{
	struct anchor anchor = { .text = text, .size = size, .value = value };

	return array_push(&anchors->list, anchor);
}

void anchors_done(struct anchors *anchors)
{
	array_done(&anchors->list);
}

static inline uint32_t block_hash(uint32_t block)
{
	return block * 0x9e3779b1u >> (32 - ANCHORS_HASH_BITS);
}

static inline uint32_t anchors_block_at(const char *at)
{
	return (uint8_t)at[0] | (uint8_t)at[1] << 8 | (uint32_t)(uint8_t)at[2] << 16;
}

/*
 * Returns the block that ends at `end`, with a single load. At least four bytes precede `end`; the
 * shift drops the first of them.
 */
static inline uint32_t block_before(const char *end)
{
	uint32_t bytes;

	memcpy(&bytes, end - 4, sizeof(bytes));
	return le32toh(bytes) >> 8;
}

/*
 * Returns roughly how common a byte is in logs. The search compares the rarest part of an anchor.
 */
static unsigned int anchors_commonness(char c)
{
	if (c == ' ' || (c >= '0' && c <= '9') || strchr("etaoinsr:.-", c))
		return 3;
	return c >= 'a' && c <= 'z' ? 2 : 1;
}

static uint32_t rarest_window(const struct anchor *anchor, uint32_t window)
{
	uint32_t best = 0, best_sum = UINT32_MAX;

	for (uint32_t at = 0; at + window <= anchor->size; at++) {
		uint32_t sum = 0;

		for (uint32_t i = 0; i < window; i++)
			sum += anchors_commonness(anchor->text[at + i]);
		if (sum < best_sum) {
			best_sum = sum;
			best = at;
		}
	}
	return best;
}

void anchors_build(struct anchors *anchors)
{
	anchors->window = WINDOW_MAX;
	for (size_t i = 0; i < anchors->list.count; i++)
		anchors->window = MIN(anchors->window, anchors->list.items[i].size);
	memset(anchors->shift, anchors->window - BLOCK + 1, sizeof(anchors->shift));
	memset(anchors->first, 0xff, sizeof(anchors->first));
	for (size_t i = 0; i < anchors->list.count; i++) {
		struct anchor *anchor = &anchors->list.items[i];
		uint32_t last = anchors->window - BLOCK;

		anchor->window = rarest_window(anchor, anchors->window);
		for (uint32_t at = 0; at <= last; at++) {
			uint32_t hash =
				block_hash(anchors_block_at(anchor->text + anchor->window + at));

			anchors->shift[hash] = MIN(anchors->shift[hash], last - at);
			if (at < last)
				continue;
			anchor->next = anchors->first[hash];
			anchors->first[hash] = i;
		}
	}
}

void anchors_start(const struct anchors *anchors, struct anchors_search *search, const char *text,
		   size_t size)
{
	*search = (struct anchors_search){
		.text = text, .size = size, .at = anchors->window, .chain = UINT32_MAX
	};
}

/* Returns whether the text around the window that ends at search->at contains the whole anchor. */
static bool anchor_fits(const struct anchors *anchors, const struct anchors_search *search,
			const struct anchor *anchor, size_t *ret_at)
{
	size_t begin = search->at - anchors->window;

	if (begin < anchor->window || search->size - (begin - anchor->window) < anchor->size)
		return false;
	*ret_at = begin - anchor->window;
	return memcmp(search->text + *ret_at, anchor->text, anchor->size) == 0;
}

/*
 * Moves to the next window that may match and returns its hash; UINT32_MAX at the end. The search
 * spends nearly all its time here.
 */
static uint32_t anchors_skip(const struct anchors *anchors, struct anchors_search *search)
{
	const char *text = search->text;
	size_t at = search->at, size = search->size;
	uint32_t hash = UINT32_MAX;

	while (at <= size) {
		uint8_t shift;

		hash = block_hash(block_before(text + at));
		shift = anchors->shift[hash];
		if (!shift)
			break;
		at += shift;
		hash = UINT32_MAX;
	}
	search->at = at;
	return hash;
}

uint32_t anchors_next(const struct anchors *anchors, struct anchors_search *search, size_t *ret_at)
{
	uint32_t hash;

	if (!anchors->list.count)
		return UINT32_MAX;
	for (;;) {
		while (search->chain != UINT32_MAX) {
			const struct anchor *anchor = &anchors->list.items[search->chain];
			bool fits = anchor_fits(anchors, search, anchor, ret_at);

			search->chain = anchor->next;
			search->at += search->chain == UINT32_MAX;
			if (fits)
				return anchor->value;
		}
		hash = anchors_skip(anchors, search);
		if (hash == UINT32_MAX)
			return UINT32_MAX;
		search->chain = anchors->first[hash];
	}
}
