/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A window of a tape as a tape of its own, to hand over. */

#include "tape/tape.h"

/*
 * What of a tape lies within [from, to) of the wall clock, with only those rows of the tables that
 * it needs; losses that overlap are kept whole, gauges by their points; sums are not. Facts,
 * anchors, sequence and boot stay. Where the clock was set back, and showed the window more than
 * once, what lies between is left out and is a loss of kind GAP. *ret_tape is NULL where the tape
 * covers nothing of the window. 0 or -ENOMEM.
 */
int tape_cut(const struct tape *tape, uint64_t from_ns, uint64_t to_ns, struct tape **ret_tape);
