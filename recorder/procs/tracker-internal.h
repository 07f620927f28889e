/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Functions of tracker-cgroup.c for tracker.c. */

#include "recorder/procs/tracker.h"

/* Puts a new process into the cgroup of its parent. `parent` is NULL if it is unknown. */
void tracker_cgroup_forked(struct tracker *tracker, struct tracker_process *child,
			   const struct tracker_process *parent);
/*
 * Updates the cgroup of a process at an exec, because the process may have changed its cgroup
 * before.
 */
void tracker_cgroup_executed(struct tracker *tracker, struct tracker_process *process,
			     uint64_t time_ns);
