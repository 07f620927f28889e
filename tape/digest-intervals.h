/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The intervals of a digest that a segment stores. Only digest.c uses this file. */

#include "tape/digest.h"

/* The intervals of a digest while samples are added. */
struct digest_intervals;

/*
 * Begins the intervals of a digest that knows the CPUs of its samples. Lists the intervals, and
 * zeroes their cells and pictures. Leaves *ret_intervals NULL if the samples are so few, or the
 * clock jumped so often, that the intervals are not worth their bytes. Returns 0 or -ENOMEM.
 */
int digest_intervals_new(const struct tape *tape, struct digest *digest,
			 struct digest_intervals **ret_intervals);
struct digest_intervals *digest_intervals_free(struct digest_intervals *intervals);

/*
 * Adds the samples from `first` to `end`, which follow those added before. `kinds` has the class of
 * each of them.
 */
void digest_intervals_add(struct digest_intervals *intervals, size_t first, size_t end,
			  const uint8_t *kinds);
