/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Divides the time of a tape into seconds. */

#include "tape/busy.h"

/*
 * Returns the slot that contains a moment. `before` is the previous slot, or NULL for the first
 * one; the moment must not be before the end of that slot. `machine` is 0 in the result. If the
 * wall clock was stepped, a slot ends at the step or a second later.
 */
struct busy_slot busy_slot_at(const struct tape *tape, const struct busy_slot *before,
			      uint64_t perf_ns);

/* Returns how much of the slot was recorded. */
uint64_t busy_slot_covered_ns(const struct tape *tape, const struct busy_slot *slot);
