// SPDX-License-Identifier: GPL-2.0-only
#include "store/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"

int store_file(const char *path, const char *name, char text[PATH_MAX], struct error *error)
{
	if (snprintf(text, PATH_MAX, "%s/%s", path, name) >= PATH_MAX)
		return error_set(error, -ENAMETOOLONG, "%.100s...: the path is too long", path);
	return 0;
}

int store_open_segment(const char *path, const char *name, int *ret_fd, struct error *error)
{
	_cleanup_close_ int fd = -1;
	char dir[PATH_MAX], file[PATH_MAX];
	struct stat about;
	int r;

	r = store_file(path, STORE_SEGMENTS, dir, error);
	if (r == 0)
		r = store_file(dir, name, file, error);
	if (r < 0)
		return r;
	/* not blocking: somebody may have put a pipe there */
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &about) < 0)
		return error_set(error, -errno, "%s: %s", file, strerror(errno));
	if (!S_ISREG(about.st_mode))
		return error_set(error, -EBADMSG, "%s: not a file", file);
	*ret_fd = take_fd(fd);
	return 0;
}

int store_read_segment(
	const char *path, const char *name, char **ret_data, size_t *ret_size, struct error *error)
{
	_cleanup_close_ int fd = -1;
	struct stat about = { 0 };
	int r = store_open_segment(path, name, &fd, error);

	if (r < 0)
		return r;
	if (fstat(fd, &about) == 0 && about.st_size > STORE_SEGMENT_MAX)
		return error_set(error, -EFBIG, "%s: larger than any segment", name);
	r = file_read_fd(fd, STORE_SEGMENT_MAX, ret_data, ret_size);
	return r < 0 ? error_set(error, r, "%s: %s", name, strerror(-r)) : 0;
}

void store_describe(const struct segment_summary *summary, const char *name, uint64_t bytes,
	struct store_segment *ret_segment)
{
	*ret_segment = (struct store_segment){
		.sequence = summary->sequence,
		.begin_ns = summary->begin_ns,
		.end_ns = summary->end_ns,
		.samples = summary->samples,
		.lost = summary->lost,
		.bytes = bytes,
	};
	snprintf(ret_segment->name, sizeof(ret_segment->name), "%s", name);
	snprintf(ret_segment->boot_id, sizeof(ret_segment->boot_id), "%s", summary->boot_id);
}
