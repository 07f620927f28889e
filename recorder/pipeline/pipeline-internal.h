/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Functions of pipeline-budget.c for pipeline.c. */

#include "recorder/pipeline/pipeline.h"

/* Adds the names of the cgroups that wanted too much to the tape. Returns 0 or -ENOMEM. */
int pipeline_add_blame(struct pipeline *pipeline);
/*
 * Once per second: renews the budgets, and forgets names and modules that nothing uses any more.
 * Returns 0 or -ENOMEM.
 */
int pipeline_renew(struct pipeline *pipeline, uint64_t time_ns);
