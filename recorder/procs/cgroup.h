/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The cgroup of a process as one path, from the most useful hierarchy. */

#include <stddef.h>
#include <stdint.h>

struct proc_reader;

#define CGROUP_PATH_MAX 512

/*
 * Chooses a path from the text of /proc/PID/cgroup, and overwrites the text. Prefers the unified
 * hierarchy. If its path is the root or missing, takes the first path other than the root in this
 * order: cpu, systemd, memory, any other. Returns "/" if all paths are the root, and "" if the text
 * is empty.
 */
const char *cgroup_choose(char *text);

/*
 * Returns the size of the part of a path that the processes in the cgroup did not choose: the unit,
 * the user, or the container. Below it, a user or root of a container may make cgroups at will.
 */
size_t cgroup_owner_size(const char *path);

/*
 * Reads the cgroup of a running process, and truncates the path if it does not fit. Returns 0;
 * -EAGAIN if reading takes too long; another negative errno if the process is gone.
 */
int cgroup_read(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX]);
