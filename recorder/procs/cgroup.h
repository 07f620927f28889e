/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* In which cgroup a process is, as one path: that of the hierarchy that tells most. */

#include <stddef.h>
#include <stdint.h>

struct proc_reader;

#define CGROUP_PATH_MAX 512

/*
 * Out of the text of /proc/PID/cgroup, which is cut up: the path in the unified hierarchy; where
 * that is the root, or is not there, the first that is not the root in the hierarchies of cpu, of
 * systemd, of memory, of any other. "/" when it is in the root of all; "" without a line.
 */
const char *cgroup_choose(char *text);

/* Of a process that runs now; a longer path is cut. 0; -EAGAIN when that takes too long; another
 * negative errno when it is gone. */
int cgroup_read(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX]);
