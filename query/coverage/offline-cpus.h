/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Adds offline CPUs to a window's coverage. Each stretch appears once with all its CPUs, however
 * many pieces the tapes report.
 */

#include "query/coverage/coverage.h"

/*
 * The largest distance between two pieces of one throttling or of one offline stretch. Two separate
 * stretches have at least a tick of the kernel's clock between them.
 */
#define COVERAGE_PIECES_MAX_GAP_NS (100 * 1000ull)

/* Returns true if a piece continues the one before it in the sorted list. */
bool coverage_continues(const struct coverage_lasting *before,
			const struct coverage_lasting *piece);

/*
 * Appends the offline stretches to the gaps. `parts` contains their pieces, sorted. Time in which
 * all selected CPUs were offline becomes uncovered. Returns 0 or -ENOMEM.
 */
int offline_cpus_add_gaps(struct coverage *coverage, const struct coverage_parts *parts,
			  const struct window *window);
