// SPDX-License-Identifier: GPL-2.0-only
#include "query/text/hidden-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The longest part of a file name that the hidden name contains. */
#define NAME_PART 200
#define TRIES 100

/*
 * Returns true if the file is a hidden file for that name, and passes the pid of the process that
 * made it.
 */
static bool hidden_file_matches(const char *hidden, const char *name, int *ret_pid)
{
	size_t size = strnlen(name, NAME_PART);
	int number, end = 0;

	return hidden[0] == '.' && strncmp(hidden + 1, name, size) == 0 &&
	       hidden[1 + size] == '.' &&
	       sscanf(hidden + size + 2, "%d-%d%n", ret_pid, &number, &end) == 2 &&
	       !hidden[size + 2 + end];
}

/*
 * Returns true if nobody writes the file any more. On a network file system, the process that
 * writes the file may run on another host. Then that process still has a lock on the file.
 */
static bool hidden_file_is_stale(int folder, const char *hidden, int pid)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_close_ int fd = -1;
	struct stat about;

	if (pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
		return false;
	fd = openat(folder, hidden, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
	       about.st_uid == geteuid() && fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static void hidden_file_sweep(int folder, const char *name)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int pid;

	while (dir && (entry = readdir(dir)))
		if (hidden_file_matches(entry->d_name, name, &pid) &&
		    hidden_file_is_stale(dirfd(dir), entry->d_name, pid))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* Returns the hidden name, or NULL without memory. */
static char *hidden_file_make_name(const char *name, int number)
{
	char *hidden = NULL;

	if (asprintf(&hidden, ".%.*s.%d-%d", NAME_PART, name, getpid(), number) < 0)
		return NULL;
	return hidden;
}

/*
 * Creates a file with a hidden name. If `fd` is a file without a name, gives it the hidden name
 * instead.
 */
static int hidden_file_create(int folder, const char *name, mode_t mode, int fd, char **ret_name)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char self[40];
	int r;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (int i = 0; i < TRIES; i++) {
		_cleanup_free_ char *hidden = hidden_file_make_name(name, i);

		if (!hidden)
			return -ENOMEM;
		if (fd >= 0)
			r = linkat(AT_FDCWD, self, folder, hidden, AT_SYMLINK_FOLLOW);
		else
			r = openat(folder, hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (r >= 0) {
			if (fd < 0)
				(void)fcntl(r, F_OFD_SETLK, &lock);
			*ret_name = take_ptr(hidden);
			return r;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Returns whether the file can get a name later. This needs /proc. */
static bool hidden_file_can_link(int fd)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return access(self, F_OK) == 0;
}

int hidden_file_open(int folder, const char *name, mode_t mode, char **ret_name)
{
	int fd;

	hidden_file_sweep(folder, name);
	*ret_name = NULL;
	fd = openat(folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	if (fd >= 0 && hidden_file_can_link(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	return hidden_file_create(folder, name, mode, -1, ret_name);
}

int hidden_file_link(int fd, int folder, const char *name, char **ret_name)
{
	return hidden_file_create(folder, name, 0, fd, ret_name);
}
