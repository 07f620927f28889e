/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds many short texts in much text at once, as Wu and Manber do: a window of bytes is looked at
 * from its right end, and a table says by the last three of them how far the window can go on. Most
 * of a log is never looked at.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

#define ANCHORS_HASH_BITS 14

struct anchor {
	/* the caller's */
	const char *text;
	uint32_t size;
	/* which part of it the window is looked for */
	uint32_t window;
	/* the caller's */
	uint32_t value;
	/* with the same hash; UINT32_MAX ends it */
	uint32_t next;
};

struct anchors {
	array_of(struct anchor) list;
	/* bytes */
	uint32_t window;
	uint8_t shift[1 << ANCHORS_HASH_BITS];
	uint32_t first[1 << ANCHORS_HASH_BITS];
};

/* text must live as long, and have at least ANCHOR_MIN bytes (pattern.h). 0 or -ENOMEM. */
int anchors_add(struct anchors *anchors, const char *text, size_t size, uint32_t value);
/* After the last one was added, before the first search. */
void anchors_build(struct anchors *anchors);
void anchors_done(struct anchors *anchors);

/* Where a search stands. */
struct anchors_search {
	const char *text;
	size_t size;
	/* the window's end */
	size_t at;
	/* of the anchors that are still to be compared there */
	uint32_t chain;
};

void anchors_start(const struct anchors *anchors, struct anchors_search *search, const char *text,
		   size_t size);
/* The value of the next anchor that is there, and where it begins; UINT32_MAX when there is no
 * more. */
uint32_t anchors_next(const struct anchors *anchors, struct anchors_search *search, size_t *ret_at);
