/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Sorts row numbers by a key of the rows. Both sides of the codec group columns by CPU, comm and
 * function this way.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Reorders `order` so that keys[order[0]], keys[order[1]], ... ascend. The sort is stable: to sort
 * by two keys, call it with the lesser key first. `scratch` has room for `count` numbers.
 */
void group_by(uint32_t *order, uint32_t *scratch, size_t count, const uint32_t *keys);

/* Sets order[i] = i. */
void group_start(uint32_t *order, size_t count);
