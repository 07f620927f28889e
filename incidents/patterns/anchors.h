/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds many short texts in one pass, by the algorithm of Wu and Manber. The search examines a
 * window of bytes from its right end. A table indexed by the last three bytes says how far the
 * window may move. The search never reads most bytes of a log.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

#define ANCHORS_HASH_BITS 14

struct anchor {
	/* Set by the caller. */
	const char *text;
	uint32_t size;
	/* The offset within `text` of the part that the search compares with the window. */
	uint32_t window;
	/* Set by the caller. */
	uint32_t value;
	/* The next anchor with the same hash; UINT32_MAX ends the list. */
	uint32_t next;
};

struct anchors {
	array_of(struct anchor) list;
	/* In bytes. */
	uint32_t window;
	uint8_t shift[1 << ANCHORS_HASH_BITS];
	uint32_t first[1 << ANCHORS_HASH_BITS];
};

/*
 * Adds a text of at least ANCHOR_MIN bytes (pattern.h), which must outlive `anchors`. Returns 0 or
 * -ENOMEM.
 */
int anchors_add(struct anchors *anchors, const char *text, size_t size, uint32_t value);
/* Builds the tables. Call it after the last anchors_add() and before the first search. */
void anchors_build(struct anchors *anchors);
void anchors_done(struct anchors *anchors);

/* The state of a search. */
struct anchors_search {
	const char *text;
	size_t size;
	/* The offset of the window's end in the text. */
	size_t at;
	/* The next anchor to compare with the window at this place; UINT32_MAX: none. */
	uint32_t chain;
};

void anchors_start(const struct anchors *anchors, struct anchors_search *search, const char *text,
		   size_t size);
/*
 * Returns the value of the next anchor in the text and its offset; UINT32_MAX after the last one.
 */
uint32_t anchors_next(const struct anchors *anchors, struct anchors_search *search, size_t *ret_at);
