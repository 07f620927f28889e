/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Where the cgroup hierarchies are, and walks over them. */

#include <limits.h>
#include <stdbool.h>

#include "gauges/source.h"

/* What has one controller: a hierarchy of its own, of version 1, or the one of version 2. */
struct cgroups {
	bool v1;
	bool part; /* what is mounted is not its top, as within a container */
	char path[PATH_MAX]; /* of its folder, the root in front */
};

/* Finds it in the text of a mountinfo file. -ENOENT when no hierarchy has that controller. */
int cgroups_find(const char *root, const char *controller, struct words mountinfo,
	struct cgroups *ret_cgroups);

/*
 * Calls `see`, which may be NULL, with the folder and path of each cgroup, "" for the first. A negative answer ends it and is handed on. -EFBIG beyond
 * bounds: what walks a tree that leaks must not become its victim.
 */
int cgroups_walk(const char *path, int (*see)(void *context, int dir_fd, const char *name),
	void *context, uint64_t *ret_count);
