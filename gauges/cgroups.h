/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds cgroup hierarchies and walks over them. */

#include <limits.h>
#include <stdbool.h>

#include "gauges/source.h"

/* The hierarchy of a controller: its own in version 1, or the common one of version 2. */
struct cgroups {
	bool v1;
	/*
	 * Only a part of the hierarchy is visible, as inside a container. With version 2, only the
	 * root of the mount shows this.
	 */
	bool part;
	/* The path of the hierarchy's folder, with the root in front. */
	char path[PATH_MAX];
};

/*
 * Finds the hierarchy of a controller in the text of a mountinfo file. A NULL controller finds
 * version 2 with any controllers. Returns 0, or -ENOENT if no hierarchy has the controller.
 */
int cgroups_find(const char *root, const char *controller, struct words mountinfo,
		 struct cgroups *ret_cgroups);

/* A cgroup on a walk. */
struct cgroups_seen {
	/* "" for the top. */
	const char *path;
	/* The descriptor of the parent's folder; for the top, the descriptor of its own folder. */
	int dir_fd;
	/* The folder's name within dir_fd. */
	const char *folder;
	uint64_t inode;
};

/*
 * Calls see(), which may be NULL, for each cgroup. A negative result of see() ends the walk, and
 * cgroups_walk() returns this result. Returns -EFBIG beyond limits of count, depth and time, so
 * that the walk also ends on a host that leaks cgroups.
 */
int cgroups_walk(const char *path, int (*see)(void *context, const struct cgroups_seen *seen),
		 void *context, uint64_t *ret_count);
