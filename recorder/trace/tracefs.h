/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the kernel's descriptions of its trace events. */

#include <limits.h>
#include <stdbool.h>

#include "base/cleanup.h"

/* systemd mounts it here. */
#define TRACEFS_PLACE "/sys/kernel/tracing"

struct tracefs {
	/* the folder that has one folder per system */
	char events[PATH_MAX];
	/* it is a mount of our own, which nobody else sees */
	bool own;
	/* descriptor of our own mount, or -1 */
	int fd;
};

/*
 * Finds tracefs below `root` ("" for this host). If it is not mounted, this process mounts one for
 * itself, which ends with the process and changes nothing on the host. Returns -ENOENT when the
 * kernel does not have it, -EACCES when we may not read it. Call tracefs_close() in either case.
 */
int tracefs_open(const char *root, struct tracefs *tracefs);
void tracefs_close(struct tracefs *tracefs);
