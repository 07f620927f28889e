/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A baseline that a snapshot contains, because the snapshot lacks the recording around its window
 * (docs/FORMAT.md, "What is usual").
 */

#include "query/sums/baseline.h"
#include "tape/tape.h"

/*
 * Adds the baseline to a tape: all its CPUs, but only those names that `window` also contains. Adds
 * nothing if the baseline has nothing to compare with. Returns 0 or -ENOMEM.
 */
int kept_baseline_add(const struct baseline *baseline, const struct tally *window,
		      struct tape *tape);
/*
 * Reads the baseline of a tape. Returns 1, 0 if the tape has no baseline, or -ENOMEM. Free the
 * result with baseline_done().
 */
int kept_baseline_read(const struct tape *tape, struct baseline *ret_baseline);
