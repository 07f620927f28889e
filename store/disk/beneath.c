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

/* With O_DIRECTORY, the kernel reports a link as ENOTDIR. Returns -ELOOP for it instead. */
static int beneath_walk_error(int at, const char *part)
{
	int r = -errno;
	struct stat about;

	if (r == -ENOTDIR && fstatat(at, part, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(about.st_mode))
		return -ELOOP;
	return r;
}

/*
 * Kernels before 5.6 lack openat2(), and some sandboxes refuse it. This fallback opens the path
 * part by part.
 */
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
		if (next < 0)
			return beneath_walk_error(at, part);
		if (!slash)
			return next;
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
	int fd = syscall(__NR_openat2, folder, name, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	if (errno == ENOSYS || errno == EPERM)
		return beneath_walk(folder, name, how.flags, mode);
	return -errno;
}

static int beneath_check(int fd, int flags)
{
	struct stat about;

	if (fstat(fd, &about) < 0)
		return -errno;
	return flags & O_DIRECTORY || S_ISREG(about.st_mode) ? 0 : -EBADMSG;
}

int beneath_error(struct error *error, int code, const char *path)
{
	return error_set(error, code, "%s: %s", path,
			 code == -ELOOP ? "it is a symbolic link, which perftape does not follow"
			 : code == -EBADMSG ? "not a file"
					    : strerror(-code));
}

int beneath_open(const char *folder, const char *name, int flags, mode_t mode)
{
	_cleanup_close_ int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	int r;

	if (at < 0)
		return -errno;
	fd = beneath_open_at(at, name, flags, mode);
	r = fd < 0 ? fd : beneath_check(fd, flags);
	return r < 0 ? r : take_fd(fd);
}
