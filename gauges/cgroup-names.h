/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What a cgroup is, by its path: of a unit of systemd, or of one container, of which the next one
 * has another number. */

#include "base/bytes.h"

enum cgroup_kind {
	/* a slice, a session, what is inside of a container */
	CGROUP_OTHER,
	/* "/system.slice/ecs.service" */
	CGROUP_UNIT,
	/* "/system.slice/docker-<64 digits>.scope", "/kubepods/burstable/pod<uid>" */
	CGROUP_CONTAINER,
};

/*
 * The path is "" or begins with a slash. The name, NUL-terminated, is the same for all that take
 * each other's place: a system unit's own, without the slices; else the path, in which a "*" stands
 * for the number of a container. Pods keep theirs for what is in them.
 */
enum cgroup_kind cgroup_name(const char *path, struct buffer *name);
