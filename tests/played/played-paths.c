// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files of the played machine: paths below /proc, /sys and others lead into a folder of the
 * test.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "tests/played/played.h"

int __real_open64(const char *path, int flags, ...);
int __real_openat64(int dir, const char *path, int flags, ...);
FILE *__real_fopen64(const char *path, const char *mode);
int __real_access(const char *path, int mode);
int __real_stat64(const char *path, struct stat *about);
DIR *__real_opendir(const char *path);
ssize_t __real_readlink(const char *path, char *text, size_t size);

int __wrap_open64(const char *path, int flags, ...);
int __wrap_openat64(int dir, const char *path, int flags, ...);
FILE *__wrap_fopen64(const char *path, const char *mode);
int __wrap_access(const char *path, int mode);
int __wrap_stat64(const char *path, struct stat *about);
DIR *__wrap_opendir(const char *path);
ssize_t __wrap_readlink(const char *path, char *text, size_t size);

static char paths_root[PATH_MAX];
static int paths_log[2] = { -1, -1 };

/* Tells whether the path is the folder or begins with it. */
static bool paths_is_below(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	return strncmp(path, folder, size) == 0 && (!path[size] || path[size] == '/');
}

/*
 * The files of the test's own processes stay real: their pids are below the pids of scripts. The
 * first two processes, init and kthreadd, are those of the machine.
 */
static bool paths_is_real(const char *path)
{
	static const char *const kept[] = { "/proc/self/fd", "/proc/self/exe", "/dev/null" };
	long pid;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (paths_is_below(path, kept[i]))
			return true;
	if (strncmp(path, "/proc/", 6) != 0)
		return false;
	pid = strtol(path + 6, NULL, 10);
	return pid > 2 && pid < PLAYED_PID_MIN;
}

const char *played_path(const char *path, char copy[PATH_MAX])
{
	static const char *const folders[] = { "/proc", "/sys", "/dev", "/run", "/etc/perftape" };

	if (!played() || paths_is_real(path))
		return path;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (paths_is_below(path, folders[i]) &&
		    snprintf(copy, PATH_MAX, "%s%s", paths_root, path) < PATH_MAX)
			return copy;
	return path;
}

void played_make_root(void)
{
	const char *folder = getenv("PERFTAPE_PLAY_FOLDER");

	if (!folder)
		played_fail("PERFTAPE_PLAY_FOLDER names no folder");
	snprintf(paths_root, sizeof(paths_root), "%s/%d", folder, (int)getpid());
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, paths_log) < 0)
		played_fail("socketpair: %s", strerror(errno));
}

void played_write(const char *path, const char *text, size_t size)
{
	char file[PATH_MAX], folder[PATH_MAX];
	_cleanup_close_ int fd = -1;

	if (played_path(path, file) != file)
		played_fail("%s is no file of the machine", path);
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(file, '/') - file), file);
	if (file_make_dirs(folder, 0755) < 0)
		played_fail("%s: %s", folder, strerror(errno));
	fd = __real_open64(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || pwrite(fd, text, size, 0) != (ssize_t)size || ftruncate(fd, size) < 0)
		played_fail("%s: %s", file, strerror(errno));
}

void played_log(const char *record)
{
	if (send(paths_log[0], record, strlen(record), MSG_NOSIGNAL) < 0)
		played_fail("kmsg: %s", strerror(errno));
}

int __wrap_open64(const char *path, int flags, ...)
{
	char copy[PATH_MAX];
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	if (played() && strcmp(path, "/dev/kmsg") == 0)
		return fcntl(paths_log[1], F_DUPFD_CLOEXEC, 0);
	return __real_open64(played_path(path, copy), flags, mode);
}

int __wrap_openat64(int dir, const char *path, int flags, ...)
{
	char copy[PATH_MAX];
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(args, mode_t);
	va_end(args);
	return __real_openat64(dir, played_path(path, copy), flags, mode);
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	char copy[PATH_MAX];

	return __real_fopen64(played_path(path, copy), mode);
}

int __wrap_access(const char *path, int mode)
{
	char copy[PATH_MAX];

	return __real_access(played_path(path, copy), mode);
}

int __wrap_stat64(const char *path, struct stat *about)
{
	char copy[PATH_MAX];

	return __real_stat64(played_path(path, copy), about);
}

DIR *__wrap_opendir(const char *path)
{
	char copy[PATH_MAX];

	return __real_opendir(played_path(path, copy));
}

/* The namespaces of the played machine are the first ones. */
ssize_t __wrap_readlink(const char *path, char *text, size_t size)
{
	static const char *const links[][2] = {
		{ "/proc/self/ns/pid", "pid:[4026531836]" },
		{ "/proc/self/ns/cgroup", "cgroup:[4026531835]" },
	};
	char copy[PATH_MAX];

	for (size_t i = 0; played() && i < ARRAY_SIZE(links); i++)
		if (strcmp(path, links[i][0]) == 0) {
			size = MIN(size, strlen(links[i][1]));
			memcpy(text, links[i][1], size);
			return size;
		}
	return __real_readlink(played_path(path, copy), text, size);
}
