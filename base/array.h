/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A growing array of any type: `array_of(struct row) rows;`, which starts zeroed. Items move when
 * the array grows, so keep indexes, not pointers.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define array_of(type)           \
	struct {                 \
		type *items;     \
		size_t count;    \
		size_t capacity; \
	}

/*
 * Allocates memory for `count` items of `size` bytes. Returns 0, or -ENOMEM with the array
 * unchanged.
 */
int array_grow(void *items, size_t *capacity, size_t count, size_t size);

#define array_reserve(array, wanted)                                                             \
	((size_t)(wanted) <= (array)->capacity ? 0                                               \
					       : array_grow(&(array)->items, &(array)->capacity, \
							    (wanted), sizeof(*(array)->items)))

/* Appends a value. Returns 0 or -ENOMEM. */
#define array_push(array, ...)                          \
	(array_reserve((array), (array)->count + 1) < 0 \
		 ? -ENOMEM                              \
		 : ((array)->items[(array)->count++] = (__VA_ARGS__), 0))

#define array_done(array)                               \
	do {                                            \
		free((array)->items);                   \
		(array)->items = NULL;                  \
		(array)->count = (array)->capacity = 0; \
	} while (0)

/* The cleanup of a variable that is an array: frees its items at the end of the scope. */
static inline void cleanup_array(void *array)
{
	/* the items are the first member of any array */
	free(*(void **)array);
}

#define _cleanup_array_ _cleanup_(cleanup_array)
