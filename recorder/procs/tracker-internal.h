/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What tracker.c has tracker-cgroup.c do. */

#include "recorder/procs/tracker.h"

/* A new process begins in its parent's, which may be NULL: not known. */
void tracker_cgroup_forked(struct tracker_process *child, const struct tracker_process *parent);
/* It executes a program, and may have been moved before. */
void tracker_cgroup_executed(struct tracker *tracker, struct tracker_process *process,
			     uint64_t time_ns);
