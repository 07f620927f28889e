// SPDX-License-Identifier: GPL-2.0-only
#include "naming/process-root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "naming/mounts.h"

#define MOUNTS_LIMIT (16u << 20)

/*
 * Refuses a path on a remote file system. Also fails if the mounts are unknown, because a process
 * that is gone has no root any more either.
 */
int process_root_refuse_remote(int32_t pid, const char *path, uint64_t device)
{
	_cleanup_free_ char *text = NULL, *host = NULL;
	char name[40] = "/proc/self/mountinfo";
	struct stat root;
	int r;

	if (pid)
		snprintf(name, sizeof(name), "/proc/%d/mountinfo", pid);
	r = file_read(name, MOUNTS_LIMIT, &text, NULL);
	if (r < 0)
		return r == -EINVAL ? -ENOENT : r;
	if (stat("/", &root) < 0)
		return -errno;
	/* The layers of a container's overlay lie in the mounts of the host. */
	if (pid && strstr(text, " overlay "))
		r = file_read("/proc/self/mountinfo", MOUNTS_LIMIT, &host, NULL);
	if (r < 0)
		return r;
	return mounts_is_remote(text, host ? host : text, path, device, root.st_dev) ? -EREMOTE : 0;
}

/* Opens a path component by component, for kernels without openat2() (before 5.6). */
static int process_root_walk(int root, const char *path)
{
	_cleanup_close_ int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
	char names[PATH_MAX], *rest = names, *name;
	struct stat about;

	if (at < 0)
		return -errno;
	if (snprintf(names, sizeof(names), "%s", path) >= (int)sizeof(names))
		return -ENAMETOOLONG;
	while ((name = strsep(&rest, "/"))) {
		int next;

		if (!*name)
			continue;
		if (strcmp(name, "..") == 0)
			return -ELOOP;
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(at);
		at = next;
		if (fstat(at, &about) < 0 || S_ISLNK(about.st_mode))
			return -ELOOP;
	}
	return take_fd(at);
}

static int process_root_open_path(int root, const char *path, unsigned int flags)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd, tries = 0;

	if (!(flags & PROCESS_ROOT_LINKS))
		how.resolve |= RESOLVE_NO_SYMLINKS;
	/* EAGAIN: the kernel cannot check the path while folders are renamed */
	do
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < 10);
	if (fd >= 0)
		return fd;
	/* EPERM: a filter of system calls that is older than this one, such as an old systemd's */
	return errno == ENOSYS || errno == EPERM ? process_root_walk(root, path) : -errno;
}

/*
 * Opens a file for reading. The file is regular, so O_NONBLOCK and O_NOCTTY have no effect; they
 * only protect if that check is wrong.
 */
int process_root_reopen(int path_fd)
{
	struct stat about;
	char name[40];
	int fd;

	if (fstat(path_fd, &about) < 0)
		return -errno;
	if (!S_ISREG(about.st_mode))
		return -ESTALE;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int process_root_open(int32_t pid, const char *path, uint64_t device, unsigned int flags)
{
	_cleanup_close_ int root = -1, path_fd = -1;
	char root_path[40] = "/";
	int r = flags & PROCESS_ROOT_REMOTE ? 0 : process_root_refuse_remote(pid, path, device);

	if (r < 0)
		return r;
	if (pid)
		snprintf(root_path, sizeof(root_path), "/proc/%d/root", pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	path_fd = process_root_open_path(root, path, flags);
	return path_fd < 0 ? path_fd : process_root_reopen(path_fd);
}
