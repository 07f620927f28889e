/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Of the samples of one tape that were asked for: leaves out what is idle, and frames that are not wanted. */

#include "query/filter.h"
#include "tape/tape.h"

/* Which of the tape's samples pass; the caller frees it. NULL where all do. 0 or -ENOMEM. */
int keep_busy(const struct filter *filter, const struct tape *tape, bool **ret_busy);
/* Takes frames out of the tape's stacks. A sample of which none is left has no stack. 0 or -ENOMEM. */
int keep_frames(const struct filter *filter, struct tape *tape);
