/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Recognises systemd units and containers by the path of a cgroup, and makes a name that a cgroup
 * shares with its successors.
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
 * A cgroup that replaces another has the same name as the other. The name of a system unit is that
 * of the unit without its slices. The name of any other cgroup is its path with "*" for a
 * container's number. A cgroup inside a pod keeps the pod's number.
 */
enum cgroup_kind cgroup_name(const char *path, struct buffer *name);
/*
 * Puts the id of the pod that a cgroup belongs to, NUL-terminated and as kubelet's API writes it:
 * "8d7c2f1e-0b3a-4c5d-9e8f-001122334455". For a container without a pod, puts "container " and the
 * 12 digits that container tools show. Returns false, with an empty name, if the path has neither.
 */
bool cgroup_pod(const char *path, struct buffer *name);
