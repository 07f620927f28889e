/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Tells from a cgroup's path whether it is a systemd unit or a container, and gives it a name that
 * its successors share.
 */

#include "base/bytes.h"

enum cgroup_kind {
	/* A slice, a session, or a cgroup inside a container. */
	CGROUP_OTHER,
	/* For example "/system.slice/ecs.service". */
	CGROUP_UNIT,
	/*
	 * For example "/system.slice/docker-<64 digits>.scope" or "/kubepods/burstable/pod<uid>".
	 */
	CGROUP_CONTAINER,
};

/*
 * Returns the kind of a cgroup and its NUL-terminated name. The path is "" or begins with a slash.
 * All cgroups that replace each other have the same name. That is a system unit's own name without
 * its slices, else the path with "*" for a container's number. Cgroups inside a pod keep the pod's
 * number.
 */
enum cgroup_kind cgroup_name(const char *path, struct buffer *name);
