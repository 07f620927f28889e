/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The seconds of a tape, from one in which there is something to the next. */

#include "tape/busy.h"

/*
 * The slot in which a moment lies that is not before the end of the slot before, which is NULL for
 * the first one. `machine` is 0. Where the clock was stepped, a slot ends at the step or a second
 * later.
 */
struct busy_slot busy_slot_at(const struct tape *tape, const struct busy_slot *before,
			      uint64_t perf_ns);

/* How much of it was recorded. */
uint64_t busy_slot_covered_ns(const struct tape *tape, const struct busy_slot *slot);
