/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Which CPUs were recorded, and which of those that were asked for were not: the recorder was told
 * to leave them out, or the host has none of that number. */

#include "query/coverage/coverage.h"

/* What a tape says of it. 0 or -ENOMEM. */
int recorded_cpus_add(struct coverage_parts *parts, const struct cpu_set_filter *asked,
		      const struct tape *tape);
/* Of all tapes, into the coverage. 0 or -ENOMEM. */
int recorded_cpus_finish(struct coverage *coverage, const struct coverage_parts *parts);
