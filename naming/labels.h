/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Labels stand for missing names: "[file+0x4c80]" states only where a function starts. */

#include <stddef.h>

#include "tape/tape.h"

/* Removes all labels, so that namer_run() searches for names again. */
void labels_remove(struct tape *tape);
/* Returns the number of frames with a name that is not a label. */
size_t labels_count_named(const struct tape *tape);
