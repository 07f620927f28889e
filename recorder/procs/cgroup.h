/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The cgroup of a process as one path, from the hierarchy that says most. */

#include <stddef.h>
#include <stdint.h>

struct proc_reader;

#define CGROUP_PATH_MAX 512

/*
 * Chooses a path from the text of /proc/PID/cgroup, and overwrites the text. Prefers the unified
 * hierarchy. If its path is the root or missing, takes the first path other than the root in this
 * order: cpu, systemd, memory, any other. Returns "/" if all paths are the root, and "" if the text
 * has no line.
 */
const char *cgroup_choose(char *text);

/*
 * Reads the cgroup of a running process and truncates a longer path. Returns 0; -EAGAIN if reading
 * takes too long; another negative errno if the process is gone.
 */
int cgroup_read(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX]);
