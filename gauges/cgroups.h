/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Where the cgroup hierarchies are, and walks over them. */

#include <limits.h>
#include <stdbool.h>

#include "gauges/source.h"

/* What has one controller: a hierarchy of its own, of version 1, or the one of version 2. */
struct cgroups {
	bool v1;
	/* of version 1: what is seen is not its top, as within a container */
	bool part;
	/* of its folder, the root in front */
	char path[PATH_MAX];
};

/* Finds it in the text of a mountinfo file; NULL: version 2, whatever it has. -ENOENT when no
 * hierarchy has that controller. */
int cgroups_find(const char *root, const char *controller, struct words mountinfo,
		 struct cgroups *ret_cgroups);

/* One on a walk. */
struct cgroups_seen {
	/* "" for the first */
	const char *path;
	/* of the one above; of the first its own */
	int dir_fd;
	/* in that */
	const char *folder;
	uint64_t inode;
};

/*
 * Calls `see`, which may be NULL, with each cgroup. A negative answer ends it and is handed on.
 * -EFBIG beyond bounds: what walks a tree that leaks must not become its victim.
 */
int cgroups_walk(const char *path, int (*see)(void *context, const struct cgroups_seen *seen),
		 void *context, uint64_t *ret_count);
