/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Shared by the files of the pipeline. */

#include "recorder/pipeline/pipeline.h"

/* pipeline.c */

/* Returns the state of a CPU, or NULL if its number is damaged or memory is missing. */
struct pipeline_cpu *pipeline_get_cpu(struct pipeline *pipeline, uint32_t cpu);
/*
 * Ends tapes until time_ns lies in the present one. If time jumped, the tape ends with its last
 * record.
 */
int pipeline_rotate_until(struct pipeline *pipeline, uint64_t time_ns);

/* pipeline-apply.c */

/* Applies all records before before_ns. Returns 0 or a negative errno. */
int pipeline_apply_before(struct pipeline *pipeline, uint64_t before_ns);

/* pipeline-budget.c */

/*
 * Adds to the tape the counts and names of the cgroups that added too much. Returns 0 or -ENOMEM.
 */
int pipeline_add_blame(struct pipeline *pipeline);
/*
 * Once per second: renews the budgets, and forgets names and modules that nothing uses any more.
 * Returns 0 or -ENOMEM.
 */
int pipeline_renew(struct pipeline *pipeline, uint64_t time_ns);
