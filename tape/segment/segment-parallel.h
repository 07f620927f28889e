/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Frames, stacks and samples of a segment, the three that need each other, decoded into a tape that
 * has its strings and threads: one after the other, or side by side. While one thread makes the
 * stacks, others unpack the blocks of samples; then all put samples into the tape.
 */

#include "tape/segment/segment-internal.h"

/* Those parts of the three that are wanted. */
int together_decode(const struct decoding *decoding, unsigned int threads);
