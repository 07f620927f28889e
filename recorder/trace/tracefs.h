/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Finds the kernel's descriptions of its trace events. */

#include <limits.h>
#include <stdbool.h>

#include "base/cleanup.h"

/* The place at which systemd mounts tracefs. */
#define TRACEFS_PLACE "/sys/kernel/tracing"

struct tracefs {
	/* the folder with one folder for each system of events */
	char events[PATH_MAX];
	/* `events` is in a private mount, which other processes do not see */
	bool own;
	/* descriptor of the private mount, or -1 */
	int fd;
};

/*
 * Finds tracefs below `root` ("" for this host). If tracefs is not mounted, makes a private mount,
 * which ends with the process and does not change the host. Returns 0; -ENOENT when the kernel
 * lacks tracefs; -EACCES when this process may not read it. Call tracefs_close() in any case.
 */
int tracefs_open(const char *root, struct tracefs *tracefs);
void tracefs_close(struct tracefs *tracefs);
