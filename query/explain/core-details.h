/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What one CPU did in a stretch of time: its threads, its call path, its kinds of code. */

#include "query/explain/evidence.h"
#include "query/explain/stall-samples.h"

/*
 * Fills the shares, threads and path of a core, from its samples between from_ns and to_ns. If
 * threads of one name had most of the time, the path is theirs. Returns 0 or a negative errno.
 */
int core_details_read(struct stall_samples *samples, struct evidence *evidence,
		      struct evidence_core *core);
