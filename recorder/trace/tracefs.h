/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The kernel's descriptions of its trace events. */

#include <limits.h>
#include <stdbool.h>

#include "base/cleanup.h"

/* Where systemd mounts it. */
#define TRACEFS_PLACE "/sys/kernel/tracing"

struct tracefs {
	/* the folder of the systems */
	char events[PATH_MAX];
	/* nobody else sees it there */
	bool own;
	/* what holds it then, or -1 */
	int fd;
};

/*
 * Of the host below the root, "" for this one. Where it is mounted nowhere, this process gets one
 * of its own, which goes with it and changes nothing on the host. -ENOENT where there is none,
 * -EACCES where it may not be read; tracefs_close() in either case.
 */
int tracefs_open(const char *root, struct tracefs *tracefs);
void tracefs_close(struct tracefs *tracefs);
