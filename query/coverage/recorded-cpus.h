/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Finds the selected CPUs that were not recorded. Either the recorder was configured to leave them
 * out, or the host does not have them.
 */

#include "query/coverage/coverage.h"

/* Adds what a tape says about its CPUs. Returns 0 or -ENOMEM. */
int recorded_cpus_add(struct coverage_parts *parts, const struct cpu_set_filter *asked,
		      const struct tape *tape);
/* Writes the result for all tapes into the coverage. Returns 0 or -ENOMEM. */
int recorded_cpus_finish(struct coverage *coverage, const struct coverage_parts *parts);
