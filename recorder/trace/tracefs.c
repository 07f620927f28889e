// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Usual places of tracefs; the second one is below debugfs. */
static const char *const places[] = { TRACEFS_PLACE, "/sys/kernel/debug/tracing" };

/*
 * Returns 0 if this process may read the folder, or a negative errno. Opens the folder, because
 * access() ignores the capabilities of a process that is not root.
 */
static int check_readable(const char *events)
{
	_cleanup_close_ int fd = open(events, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : 0;
}

static int find_mounted(const char *root, struct tracefs *tracefs)
{
	int r, result = -ENOENT;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(tracefs->events, sizeof(tracefs->events), "%s%s/events", root, places[i]);
		r = check_readable(tracefs->events);
		if (r == 0)
			return 0;
		if (r == -EACCES || r == -EPERM)
			result = -EACCES;
	}
	return result;
}

/* Mounts tracefs without attaching it to a folder (since Linux 5.2). */
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
	return check_readable(tracefs->events) == 0 ? 0 : -ENOENT;
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
