// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/tracefs.h"

#include <errno.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The second is where who mounts debugfs finds it. */
static const char *const places[] = { TRACEFS_PLACE, "/sys/kernel/debug/tracing" };

static int find_mounted(const char *root, struct tracefs *tracefs)
{
	int result = -ENOENT;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(tracefs->events, sizeof(tracefs->events), "%s%s/events", root, places[i]);
		if (access(tracefs->events, R_OK | X_OK) == 0)
			return 0;
		if (errno == EACCES || errno == EPERM)
			result = -EACCES;
	}
	return result;
}

/* A mount that is attached nowhere (Linux 5.2). */
static int mount_own(struct tracefs *tracefs)
{
	_cleanup_close_ int context = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -ENOENT;
	tracefs->fd = syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	if (tracefs->fd < 0)
		return -ENOENT;
	tracefs->own = true;
	snprintf(tracefs->events, sizeof(tracefs->events), "/proc/self/fd/%d/events", tracefs->fd);
	return access(tracefs->events, R_OK | X_OK) == 0 ? 0 : -ENOENT;
}

int tracefs_open(const char *root, struct tracefs *tracefs)
{
	int r;

	tracefs->fd = -1;
	tracefs->own = false;
	r = find_mounted(root, tracefs);
	return r == -ENOENT && !*root ? mount_own(tracefs) : r;
}

void tracefs_close(struct tracefs *tracefs)
{
	cleanup_close(&tracefs->fd);
	tracefs->fd = -1;
}
