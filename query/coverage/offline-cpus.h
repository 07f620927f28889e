/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* CPUs that were not there, as a window's coverage tells of them: each stretch once, with all CPUs
 * of which it is, however many pieces it was told in. */

#include "query/coverage/coverage.h"

/* By no more do the pieces of one throttling or absence differ; between two of them there is a tick
 * of the kernel's clock. */
#define COVERAGE_PIECES_OFF_NS (100 * 1000ull)

/* Of pieces in their order: one that begins where the one before ends is the same time again. */
bool coverage_goes_on(const struct coverage_lasting *before, const struct coverage_lasting *piece);

/*
 * Adds them to the gaps, behind the others, of parts whose pieces are in their order. What those
 * that were asked for were all away of the covered time is not covered. 0 or -ENOMEM.
 */
int offline_cpus_tell(struct coverage *coverage, const struct coverage_parts *parts,
		      const struct window *window);
