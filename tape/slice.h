/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Cuts a window out of a tape, as a tape of its own. */

#include "tape/tape.h"

/*
 * Copies the part of a tape within [from, to) of the wall clock, and the table rows that it refers
 * to. Losses that overlap the window are kept whole. Gauges keep their points within the window.
 * Without an event of dying cgroups in the window, the last one before it is kept, else the first
 * one after it. Sums are not copied, nor what was usual. Facts, anchors, sequence and boot id stay.
 *
 * If the clock was set back and showed the window several times, the time in between becomes a loss
 * of kind GAP. *ret_tape is NULL if the tape covers nothing of the window. Returns 0 or -ENOMEM.
 */
int tape_slice(const struct tape *tape, uint64_t from_ns, uint64_t to_ns, struct tape **ret_tape);
