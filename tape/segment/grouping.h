/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Puts the numbers of rows into the order of a key of theirs: how columns are grouped by CPU, comm
 * and function, on both sides. */

#include <stddef.h>
#include <stdint.h>

/*
 * Reorders `order`, so that keys[order[0]], keys[order[1]], ... ascend. Stable: after another call
 * with a lesser key, the order is by this key and then by that. scratch has room for count numbers.
 */
void group_by(uint32_t *order, uint32_t *scratch, size_t count, const uint32_t *keys);

/* order[i] = i */
void group_start(uint32_t *order, size_t count);
