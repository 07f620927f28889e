/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The intervals of a digest that a segment stores. Only digest.c uses this file. */

#include "tape/digest.h"

/*
 * Replaces the single interval of a digest. `kinds` has the class of each sample. Leaves the single
 * interval if the samples are so few, or the clock jumped so often, that the intervals are not
 * worth their bytes. Returns 0 or -ENOMEM.
 */
int digest_intervals_make(const struct tape *tape, const uint8_t *kinds, struct digest *digest);
