/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Decodes the frames, stacks and samples of a segment, which depend on each other. The tape already
 * has its strings and threads. With several threads, one decodes the stacks while the others unpack
 * blocks of samples. Then all write samples into the tape.
 */

#include "tape/segment/segment-internal.h"

/* Decodes the wanted parts of frames, stacks and samples. */
int segment_parallel_decode(const struct decoding *decoding, unsigned int threads);
