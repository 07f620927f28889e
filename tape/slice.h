/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Copies a window of a tape into a new tape. */

#include "tape/tape.h"

/*
 * Copies the part of a tape within [from, to) of the wall clock, and the table rows that this part
 * refers to. Copies whole losses that overlap the window, and the points of gauges within the
 * window. Copies the anchors, the sequence and the facts that hold for the part. If the window
 * lacks events of dying cgroups, copies the last ones before the window, else the first ones after
 * it. Does not copy sums and usual values.
 *
 * If the clock was set back and showed the window several times, the time in between becomes a loss
 * of kind GAP. *ret_tape is NULL if the tape does not cover any part of the window. Returns 0 or
 * -ENOMEM.
 */
int tape_slice(const struct tape *tape, uint64_t from_ns, uint64_t to_ns, struct tape **ret_tape);
