/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Memory that runs out once, at the allocation that the test chooses. The linker must wrap realloc
 * and calloc. Only the test's own thread may allocate meanwhile.
 */

#include <stdbool.h>
#include <stddef.h>

void *__real_realloc(void *old, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_calloc(size_t count, size_t size);

/* The number of allocations up to the allocation that fails; 0: allocations do not fail. */
static unsigned int scarce_left;

static inline bool scarce_fails(void)
{
	return scarce_left && --scarce_left == 0;
}

void *__wrap_realloc(void *old, size_t size)
{
	return scarce_fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return scarce_fails() ? NULL : __real_calloc(count, size);
}

/* From now on, the allocation of this number fails; 1 is the next allocation. */
static inline void scarce_begin(unsigned int number)
{
	scarce_left = number;
}

/* Returns whether an allocation failed since scarce_begin(). Later allocations do not fail. */
static inline bool scarce_end(void)
{
	bool failed = !scarce_left;

	scarce_left = 0;
	return failed;
}
