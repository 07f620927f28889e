/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Applies the parts of a filter that concern frames: idle samples and unwanted frames of one tape.
 */

#include <stdint.h>

#include "query/window/filter.h"
#include "tape/tape.h"

/*
 * Determines for each sample of the tape what its CPU did (enum stack_class_kind). The caller frees
 * the array. *ret_kinds is NULL if the filter neither needs the kinds nor removes the frames that
 * show them. Returns 0 or -ENOMEM.
 */
int frame_filter_kinds(const struct filter *filter, const struct tape *tape, uint8_t **ret_kinds);
/*
 * Removes frames from the tape's stacks. A sample that loses all its frames gets the empty stack.
 * Returns 0 or -ENOMEM.
 */
int frame_filter_frames(const struct filter *filter, struct tape *tape);
