/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Recognises systemd units and containers by the path of a cgroup, and makes a name for the cgroup
 * that its successors share.
 */

#include <stdbool.h>

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
 * A cgroup that replaces another has the same name as the other. For a system unit, the name is
 * that of the unit without its slices. For others, it is the path with "*" for a container's
 * number; a cgroup inside a pod keeps the pod's number.
 */
enum cgroup_kind cgroup_name(const char *path, struct buffer *name);
/*
 * Puts the id of the pod that a cgroup belongs to, as kubelet's API names it, NUL-terminated:
 * "8d7c2f1e-0b3a-4c5d-9e8f-001122334455". A container without a pod is "container " and the 12
 * digits that container tools show. Returns false, with an empty name, without either.
 */
bool cgroup_pod(const char *path, struct buffer *name);
