// SPDX-License-Identifier: GPL-2.0-only
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/mutation.h"

int file_read_fd(int fd, size_t limit, char **ret_data, size_t *ret_size)
{
	_cleanup_(buffer_done) struct buffer buffer = { 0 };

	for (;;) {
		uint8_t *room = buffer_room(&buffer, 65536);
		ssize_t got;

		if (!room)
			return -ENOMEM;
		got = pread(fd, room, 65536, buffer.size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		buffer.size += got;
		if (buffer.size > limit)
			return -EFBIG;
	}
	buffer_u8(&buffer, 0);
	if (buffer_failed(&buffer))
		return -ENOMEM;
	if (ret_size)
		*ret_size = buffer.size - 1;
	*ret_data = (char *)take_ptr(buffer.data);
	return 0;
}

int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, limit, ret_data, ret_size);
}

int file_read_own(const char *path, size_t limit, char **ret_data, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat about;

	if (fd < 0 || fstat(fd, &about) < 0)
		return -errno;
	if (!S_ISREG(about.st_mode) || about.st_uid != geteuid())
		return -EPERM;
	return file_read_fd(fd, limit, ret_data, ret_size);
}

int file_write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t put = write(fd, at, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		size -= put;
	}
	return 0;
}

int file_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	const char *at = data;

	while (size) {
		ssize_t put = pwrite(fd, at, size, offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		offset += put;
		size -= put;
	}
	return 0;
}

bool file_exists(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0;
}

int file_sync_dir(const char *dir)
{
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Writes the file under a temporary name, and renames it when it is on the disk. */
static int file_replace_with(int dir_fd, const char *temporary, const char *name, const void *data,
			     size_t size)
{
	_cleanup_close_ int fd = openat(dir_fd, temporary,
					O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	int r;

	if (fd < 0)
		return -errno;
	r = file_write_all(fd, data, size);
	if (r < 0)
		return r;
	if (!mutated("skip-fsync") && fsync(fd) < 0)
		return -errno;
	return renameat(dir_fd, temporary, dir_fd, name) < 0 ? -errno : 0;
}

int file_replace(const char *dir, const char *name, const void *data, size_t size)
{
	_cleanup_close_ int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char temporary[NAME_MAX + 1];
	int r;

	if (dir_fd < 0)
		return -errno;
	if (snprintf(temporary, sizeof(temporary), ".%s.new", name) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	/* another user may have put a file or a link there, if others can write to the folder */
	unlinkat(dir_fd, temporary, 0);
	r = file_replace_with(dir_fd, temporary, name, data, size);
	if (r < 0) {
		unlinkat(dir_fd, temporary, 0);
		return r;
	}
	return fsync(dir_fd) < 0 ? -errno : 0;
}

int file_publish(const char *path, const void *data, size_t size)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? slash - path + 1 : 0;
	char temporary[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	if (snprintf(temporary, sizeof(temporary), "%.*s.%s.new", folder, path, path + folder) >=
	    (int)sizeof(temporary))
		return -ENAMETOOLONG;
	/* another user may have put a link at this path */
	unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = file_write_all(fd, data, size);
	if (r == 0 && (fchmod(fd, 0644) < 0 || rename(temporary, path) < 0))
		r = -errno;
	if (r < 0)
		unlink(temporary);
	return r;
}

int file_make_dirs(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t size = strlen(path);

	if (size >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, size + 1);
	for (char *at = part + 1; size; at++) {
		char was = *at;

		if (was && was != '/')
			continue;
		*at = 0;
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return -errno;
		if (!was)
			break;
		*at = was;
	}
	return 0;
}
