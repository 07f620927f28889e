// SPDX-License-Identifier: GPL-2.0-only
#include "naming/process-root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "naming/mounts.h"

#define MOUNTS_LIMIT (16u << 20)
#define FDINFO_LIMIT 4096u

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#define ZFS_SUPER_MAGIC 0x2fc12fc1

/* The usual file systems of programs, which never wait for another process or host. */
static const uint64_t local_types[] = {
	EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,	BTRFS_SUPER_MAGIC, TMPFS_MAGIC,	    RAMFS_MAGIC,
	SQUASHFS_MAGIC,	  EROFS_SUPER_MAGIC_V1, F2FS_SUPER_MAGIC,  ZFS_SUPER_MAGIC,
};

/* The mounts of a process and those of the host, and the device of perftape's root. */
struct mount_lists {
	char *own;
	char *host;
	uint64_t root_device;
};

static void mount_lists_done(struct mount_lists *lists)
{
	free(lists->own);
	free(lists->host);
}

static const char *mount_lists_host(const struct mount_lists *lists)
{
	return lists->host ? lists->host : lists->own;
}

/*
 * Also fails if the mounts are unknown, because a process that is gone lacks a root, too. Without
 * `whole`, reads the mounts of the host only if the process has an overlay.
 */
static int mount_lists_read(struct mount_lists *lists, int32_t pid, bool whole)
{
	char name[40] = "/proc/self/mountinfo";
	struct stat root;
	int r;

	if (pid)
		snprintf(name, sizeof(name), "/proc/%d/mountinfo", pid);
	r = file_read(name, MOUNTS_LIMIT, &lists->own, NULL);
	if (r < 0)
		return r == -EINVAL ? -ENOENT : r;
	if (stat("/", &root) < 0)
		return -errno;
	lists->root_device = root.st_dev;
	/*
	 * The layers of a container's overlay lie in the mounts of the host, which perftape cannot
	 * read if it runs in a container, too.
	 */
	if (pid && (whole || strstr(lists->own, " overlay "))) {
		r = file_read("/proc/1/mountinfo", MOUNTS_LIMIT, &lists->host, NULL);
		if (r == -EACCES || r == -ENOENT)
			r = file_read("/proc/self/mountinfo", MOUNTS_LIMIT, &lists->host, NULL);
	}
	return MIN(r, 0);
}

int process_root_refuse_remote(int32_t pid, const char *path, uint64_t device)
{
	_cleanup_(mount_lists_done) struct mount_lists lists = { 0 };
	int r = mount_lists_read(&lists, pid, false);

	if (r < 0)
		return r;
	return mounts_is_remote(lists.own, mount_lists_host(&lists), path, device,
				lists.root_device)
		       ? -EREMOTE
		       : 0;
}

/* Sets *ret_id to the number of the mount through which a file was opened. */
static int process_root_mount_id(int fd, uint64_t *ret_id)
{
	_cleanup_free_ char *text = NULL;
	const char *line;
	char name[40];
	int r;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	r = file_read(name, FDINFO_LIMIT, &text, NULL);
	if (r < 0)
		return r;
	line = strstr(text, "mnt_id:");
	if (!line)
		return -ENODATA;
	*ret_id = strtoull(line + strlen("mnt_id:"), NULL, 10);
	return 0;
}

/*
 * Refuses an open file on a file system that may hang. The mounts may have changed between
 * process_root_refuse_remote() and the opening of the path, and a file that a process maps may lie
 * on a mount that was detached since. Asks the file system itself, so the caller must bear to wait.
 */
static int process_root_refuse_file(int32_t pid, int path_fd)
{
	_cleanup_(mount_lists_done) struct mount_lists lists = { 0 };
	struct statfs system;
	struct stat about;
	uint64_t id = 0;
	int r;

	if (fstatfs(path_fd, &system) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(local_types); i++)
		if ((uint64_t)system.f_type == local_types[i])
			return 0;
	/* only root can mount an overlay where perftape sees it without the mounts of a process */
	if (!pid && system.f_type == OVERLAYFS_SUPER_MAGIC)
		return 0;
	/* the list of a process with another root lacks the mount of that root */
	r = mount_lists_read(&lists, pid, true);
	if (r < 0)
		return r;
	r = process_root_mount_id(path_fd, &id);
	if (r < 0)
		return r;
	if (fstat(path_fd, &about) < 0)
		return -errno;
	return mounts_is_mount_remote(lists.own, mount_lists_host(&lists), id, about.st_dev,
				      lists.root_device)
		       ? -EREMOTE
		       : 0;
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
		fd = syscall(__NR_openat2, root, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < 10);
	if (fd >= 0)
		return fd;
	/* EPERM: a filter of system calls that is older than openat2(), such as an old systemd's */
	return errno == ENOSYS || errno == EPERM ? process_root_walk(root, path) : -errno;
}

/*
 * Opens a file for reading. The file is regular, so O_NONBLOCK and O_NOCTTY do not matter; they
 * only protect if the check for a regular file is wrong.
 */
int process_root_reopen(int32_t pid, int path_fd, unsigned int flags)
{
	struct stat about;
	char name[40];
	int fd, r = flags & PROCESS_ROOT_REMOTE ? 0 : process_root_refuse_file(pid, path_fd);

	if (r < 0)
		return r;
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
	return path_fd < 0 ? path_fd : process_root_reopen(pid, path_fd, flags);
}
