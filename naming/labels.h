/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Names that are none: "[file+0x4c80]", which only says where a function starts, for want of
 * better. */

#include <stddef.h>

#include "tape/tape.h"

/* Takes them away, so that namer_run() looks for names again. */
void labels_remove(struct tape *tape);
/* How many frames have a name that is one. */
size_t labels_count_named(const struct tape *tape);
