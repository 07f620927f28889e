/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Functions of tracker-cgroup.c for tracker.c. */

#include "recorder/procs/tracker.h"

/* Puts a new process into the cgroup of its parent. NULL: the parent is unknown. */
void tracker_cgroup_forked(struct tracker_process *child, const struct tracker_process *parent);
/*
 * Updates the cgroup of a process that executes a program, because it may have moved to another
 * cgroup before.
 */
void tracker_cgroup_executed(struct tracker *tracker, struct tracker_process *process,
			     uint64_t time_ns);
