// SPDX-License-Identifier: GPL-2.0-only
#include "store/disk/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Kernels before 5.6 lack openat2(), and some sandboxes refuse it. Then opens part by part. */
static int beneath_walk(int folder, const char *name, int flags, mode_t mode)
{
	_cleanup_close_ int at = fcntl(folder, F_DUPFD_CLOEXEC, 3);

	while (at >= 0) {
		const char *slash = strchr(name, '/');
		size_t size = slash ? (size_t)(slash - name) : strlen(name);
		char part[NAME_MAX + 1];
		int next;

		if (size >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, name, size);
		part[size] = 0;
		if (strcmp(part, "..") == 0)
			return -EXDEV;
		next = openat(at, *part ? part : ".",
			      slash ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
				    : flags | O_NOFOLLOW | O_CLOEXEC,
			      mode);
		if (next < 0 || !slash)
			return next < 0 ? -errno : next;
		close(at);
		at = next;
		name = slash + 1;
	}
	return -errno;
}

/* Opens without waiting for the other end of a pipe. */
static int beneath_open_at(int folder, const char *name, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = flags | O_NONBLOCK | O_CLOEXEC,
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = syscall(SYS_openat2, folder, name, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	if (errno == ENOSYS || errno == EPERM)
		return beneath_walk(folder, name, how.flags, mode);
	return -errno;
}

/* What root makes in the store of another user belongs to that user, who must be able to use it. */
static int beneath_give(int folder, int fd)
{
	struct stat about;

	if (geteuid() != 0)
		return 0;
	if (fstat(folder, &about) < 0)
		return -errno;
	return about.st_uid && fchown(fd, about.st_uid, about.st_gid) < 0 ? -errno : 0;
}

/* Opens a file that is there, or makes one and knows that it is new. */
static int beneath_make(int folder, const char *name, int flags, mode_t mode)
{
	_cleanup_close_ int fd = beneath_open_at(folder, name, flags & ~O_CREAT, 0);
	int r;

	if (fd != -ENOENT)
		return take_fd(fd);
	fd = beneath_open_at(folder, name, flags | O_EXCL, mode);
	/* another process was faster */
	if (fd == -EEXIST)
		return beneath_open_at(folder, name, flags & ~O_CREAT, 0);
	r = fd < 0 ? fd : beneath_give(folder, fd);
	return r < 0 ? r : take_fd(fd);
}

static int beneath_check(int fd, int flags)
{
	struct stat about;

	if (fstat(fd, &about) < 0)
		return -errno;
	return flags & O_DIRECTORY || S_ISREG(about.st_mode) ? 0 : -EBADMSG;
}

int beneath_open(const char *folder, const char *name, int flags, mode_t mode)
{
	_cleanup_close_ int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	int r;

	if (at < 0)
		return -errno;
	fd = flags & O_CREAT ? beneath_make(at, name, flags, mode)
			     : beneath_open_at(at, name, flags, 0);
	r = fd < 0 ? fd : beneath_check(fd, flags);
	return r < 0 ? r : take_fd(fd);
}
