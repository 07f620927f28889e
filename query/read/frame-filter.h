/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Of the samples of one tape that were asked for: leaves out what is idle, and frames that are not
 * wanted. */

#include <stdint.h>

#include "query/window/filter.h"
#include "tape/tape.h"

/*
 * What its CPU did at each of the tape's samples, an enum load_kind; the caller frees it. NULL
 * where the filter neither asks for that, nor takes away the frames that tell it. 0 or -ENOMEM.
 */
int frame_filter_kinds(const struct filter *filter, const struct tape *tape, uint8_t **ret_kinds);
/* Takes frames out of the tape's stacks. A sample of which none is left has no stack. 0 or -ENOMEM.
 */
int frame_filter_frames(const struct filter *filter, struct tape *tape);
