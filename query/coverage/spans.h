/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What tapes and what was given up cover, where it meets on the perf clock: each has the wall clock
 * by its own anchors, which may be far apart when it was set meanwhile.
 */

#include "query/coverage/coverage.h"

/* Where tapes meet, nothing is missing between them on any clock. 0 or -ENOMEM. */
int spans_join(struct coverage_parts *parts);
/*
 * Why what was given up is not covered. Whoever tells of it was not there when it began, and knows
 * the wall clock of then only as it was later: it begins where the tape before it ends, if that is
 * in the window too. 0 or -ENOMEM.
 */
int spans_explain_unsaved(struct coverage_parts *parts);
