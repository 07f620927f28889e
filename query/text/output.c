// SPDX-License-Identifier: GPL-2.0-only
#include "query/text/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "pack/gzip.h"

#define FLUSH_BYTES (256 << 10)

static const char *output_name(const struct output *output)
{
	return output->path ? output->path : "standard output";
}

/* NAME beside PATH, or NAME itself when it is absolute; the caller frees it. NULL when memory is
 * out. */
static char *output_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	char *text = NULL;

	if (*name == '/' || !slash)
		return strdup(name);
	if (asprintf(&text, "%.*s%s", (int)(slash - path) + 1, path, name) < 0)
		return NULL;
	return text;
}

/* Hidden, so that nobody who lists the folder takes it for an answer; numbered, so that what a
 * killed run left is no obstacle. */
static int open_temporary(struct output *output, mode_t mode)
{
	const char *slash = strrchr(output->path, '/');
	const char *name = slash ? slash + 1 : output->path;

	for (int i = 0; i < 100; i++) {
		char hidden[256];

		snprintf(hidden, sizeof(hidden), ".%.200s.%d-%d", name, getpid(), i);
		output->temporary = output_beside(output->path, hidden);
		if (!output->temporary)
			return -ENOMEM;
		output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (output->fd >= 0)
			return 0;
		free(take_ptr(output->temporary));
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Behind symbolic links the file is made or replaced, and the links stay. */
static int follow_links(struct output *output)
{
	for (int i = 0; i < 40; i++) {
		char target[PATH_MAX];
		ssize_t size = readlink(output->path, target, sizeof(target) - 1);
		char *next;

		if (size < 0) /* no link, or there is nothing */
			return errno == EINVAL || errno == ENOENT ? 0 : -errno;
		target[size] = 0;
		next = output_beside(output->path, target);
		if (!next)
			return -ENOMEM;
		free(output->path);
		output->path = next;
	}
	return -ELOOP;
}

/* Who could not read the answer that was there shall not read this one. */
static int replace_file(struct output *output, mode_t mode)
{
	int r = open_temporary(output, 0600);

	if (r == 0 && fchmod(output->fd, mode & 0777) < 0)
		r = -errno;
	return r;
}

/* What is there and no plain file (/dev/full, a pipe) is written to: a rename would put a file in
 * its place. */
static int output_open_path(struct output *output)
{
	struct stat about;
	bool there = stat(output->path, &about) == 0;
	int r;

	if (there && S_ISDIR(about.st_mode))
		return -EISDIR;
	if (there && !S_ISREG(about.st_mode)) {
		output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
		return output->fd < 0 ? -errno : 0;
	}
	r = follow_links(output);
	if (r < 0)
		return r;
	/* what /proc/self/fd shows of a file that was removed leads nowhere */
	if (there && access(output->path, F_OK) < 0)
		return -errno;
	return there ? replace_file(output, about.st_mode) : open_temporary(output, 0666);
}

static bool output_ends_with(const char *path, const char *end)
{
	size_t size = strlen(path), end_size = strlen(end);

	return size > end_size && !strcmp(path + size - end_size, end);
}

int output_open(struct output *output, const char *path, struct error *error)
{
	int r;

	*output = (struct output){ .fd = STDOUT_FILENO };
	if (!path || !strcmp(path, "-"))
		return 0;
	output->fd = -1;
	output->path = strdup(path);
	r = output->path ? output_open_path(output) : -ENOMEM;
	if (r == 0 && (output_ends_with(path, ".gz") || output_ends_with(path, ".svgz")))
		r = gzip_writer_new(output->fd, &output->gz);
	if (r < 0) {
		error_set(error, r, "cannot write %s: %s", path, strerror(-r));
		output_done(output);
	}
	return r;
}

/*
 * Only where it was measured: on ext4 writing took half the CPU. What is appended to has its end
 * elsewhere. The file's size stays what was written of it, so nobody sees a longer one.
 */
void output_expect(struct output *output, uint64_t bytes)
{
	struct statfs about;
	int flags = fcntl(output->fd, F_GETFL);
	off_t at = lseek(output->fd, 0, SEEK_CUR);

	if (!output->gz && at >= 0 && flags >= 0 && !(flags & O_APPEND) && bytes &&
	    bytes <= INT64_MAX - (uint64_t)at && fstatfs(output->fd, &about) == 0 &&
	    about.f_type == EXT4_SUPER_MAGIC)
		output->expected_end =
			fallocate(output->fd, FALLOC_FL_KEEP_SIZE, at, bytes) == 0 ? at + bytes : 0;
}

/* Gives back what was expected and did not come, unless others have written behind it meanwhile. */
static void output_give_back(const struct output *output)
{
	off_t end = output->expected_end ? lseek(output->fd, 0, SEEK_CUR) : -1;
	struct stat about;

	if (end >= 0 && (uint64_t)end < output->expected_end && fstat(output->fd, &about) == 0 &&
	    about.st_size == end && ftruncate(output->fd, end) < 0)
		return; /* the place is lost until the file is removed */
}

static void write_text(struct output *output, bool last)
{
	struct buffer *text = &output->text;

	if (!output->failed && buffer_failed(text))
		output->failed = -ENOMEM;
	if (!output->failed)
		output->failed = output->gz ? gzip_write(output->gz, text->data, text->size, last)
					    : file_write_all(output->fd, text->data, text->size);
	text->size = 0;
}

void output_flush(struct output *output)
{
	if (output->text.size > FLUSH_BYTES || output->failed || buffer_failed(&output->text))
		write_text(output, false);
}

/* The last write error of some file systems comes with close(). Standard output stays open: it is
 * not ours. */
static int output_close_file(struct output *output)
{
	if (!output->path)
		return 0;
	return close(take_fd(output->fd)) < 0 ? -errno : 0;
}

int output_commit(struct output *output, struct error *error)
{
	int r, closed;

	write_text(output, true);
	r = output->failed;
	output_give_back(output);
	closed = output_close_file(output);
	if (r == 0)
		r = closed;
	if (r == 0 && output->temporary) {
		if (rename(output->temporary, output->path) < 0)
			r = -errno;
		else
			free(take_ptr(output->temporary));
	}
	if (r < 0 && r != -EPIPE)
		error_set(error, r, "cannot write %s: %s", output_name(output), strerror(-r));
	output_done(output);
	return r;
}

void output_done(struct output *output)
{
	output->gz = gzip_writer_free(output->gz);
	if (output->path && output->fd >= 0)
		close(take_fd(output->fd));
	if (output->temporary)
		unlink(output->temporary);
	free(take_ptr(output->temporary));
	free(take_ptr(output->path));
	buffer_done(&output->text);
}
