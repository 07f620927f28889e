// SPDX-License-Identifier: GPL-2.0-only
#include "query/text/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/foreign.h"
#include "pack/gzip.h"
#include "query/text/hidden-file.h"

#define FLUSH_BYTES (256 << 10)

static const char *output_name(const struct output *output)
{
	return output->place.path ? output->place.path : "standard output";
}

/* Remembers the hidden name as a path. If memory runs out, removes the file. */
static int output_set_temporary(struct output *output, const char *hidden)
{
	const struct output_place *place = &output->place;

	if (asprintf(&output->temporary, "%.*s%s", (int)(place->name - place->path), place->path,
		     hidden) >= 0)
		return 0;
	output->temporary = NULL;
	unlinkat(place->folder, hidden, 0);
	return -ENOMEM;
}

/*
 * Opens the file for the answer. Until the answer is complete, this file has no name, or a hidden
 * one. Only its owner can read a new file. A file that replaces another takes that file's mode, so
 * that no additional users can read the answer.
 */
static int output_open_file(struct output *output)
{
	const struct output_place *place = &output->place;
	_cleanup_free_ char *hidden = NULL;

	output->fd = hidden_file_open(place->folder, place->name, 0600, &hidden);
	if (output->fd < 0)
		return output->fd;
	output->replaces = true;
	if (hidden && output_set_temporary(output, hidden) < 0)
		return -ENOMEM;
	return place->there && fchmod(output->fd, place->mode) < 0 ? -errno : 0;
}

static int output_open_path(struct output *output, const char *path, bool force)
{
	int r = output_place_find(path, force, &output->place);

	if (r < 0)
		return r;
	if (output->place.is_standard_output) {
		output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return output->fd < 0 ? -errno : 0;
	}
	if (output->place.special < 0)
		return output_open_file(output);
	output->fd = take_fd(output->place.special);
	output->is_terminal = isatty(output->fd);
	return 0;
}

static bool output_ends_with(const char *path, const char *end)
{
	size_t size = strlen(path), end_size = strlen(end);

	return size > end_size && !strcmp(path + size - end_size, end);
}

/*
 * Reports the link of another user at which output_place_find() stopped, because the path alone
 * does not explain the error.
 */
static int output_link_error(int r, const char *path, const char *link, struct error *error)
{
	return error_set(
		error, r,
		"cannot write %s: another user owns the link %s; remove it, or give another name",
		path, link);
}

static int output_error(int r, const char *path, struct error *error)
{
	_cleanup_free_ char *link = r == -EACCES ? output_place_foreign_link(path) : NULL;

	if (link)
		return output_link_error(r, path, link, error);
	if (r == -EPERM)
		return error_set(
			error, r,
			"cannot write %s: another user owns it; give another name, or --force",
			path);
	return error_set(error, r, "cannot write %s: %s", path, strerror(-r));
}

int output_open(struct output *output, const char *path, bool force, struct error *error)
{
	int r;

	*output = (struct output){ .fd = STDOUT_FILENO, .place = { .folder = -1, .special = -1 } };
	if (!path || !strcmp(path, "-")) {
		output->is_terminal = isatty(STDOUT_FILENO);
		return 0;
	}
	output->fd = -1;
	r = output_open_path(output, path, force);
	if (r == 0 && (output_ends_with(path, ".gz") || output_ends_with(path, ".svgz")))
		r = gzip_writer_new(output->fd, &output->gz);
	if (r < 0) {
		output_error(r, path, error);
		output_done(output);
	}
	return r;
}

/*
 * Allocates disk space in advance only on ext4, where the measured CPU time of writing fell by
 * half. Does not allocate for files opened to append, because they end elsewhere. The file size
 * stays the size written, so readers see no padding.
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

/*
 * Frees the allocated disk space that was not used, unless another process has written beyond our
 * end.
 */
static void output_trim(const struct output *output)
{
	off_t end = output->expected_end ? lseek(output->fd, 0, SEEK_CUR) : -1;
	struct stat about;

	if (end >= 0 && (uint64_t)end < output->expected_end && fstat(output->fd, &about) == 0 &&
	    about.st_size == end && ftruncate(output->fd, end) < 0)
		return; /* the disk space stays allocated until the file is removed */
}

/*
 * Writes the text. Writers clean names by the rules of their format, but a terminal needs stricter
 * rules than some formats.
 */
static int output_write(struct output *output, bool last)
{
	struct buffer *text = &output->text;

	if (output->gz)
		return gzip_write(output->gz, text->data, text->size, last);
	if (output->is_terminal)
		text->size = foreign_clean_lines((char *)text->data, text->size, false);
	return file_write_all(output->fd, text->data, text->size);
}

static void write_text(struct output *output, bool last)
{
	struct buffer *text = &output->text;

	if (!output->failed && buffer_failed(text))
		output->failed = -ENOMEM;
	if (!output->failed)
		output->failed = output_write(output, last);
	text->size = 0;
}

void output_flush(struct output *output)
{
	if (output->text.size > FLUSH_BYTES || output->failed || buffer_failed(&output->text))
		write_text(output, false);
}

/*
 * Some file systems report the last write error on close(). Standard output stays open, because the
 * caller owns it.
 */
static int output_close_file(struct output *output)
{
	if (!output->place.path)
		return 0;
	return close(take_fd(output->fd)) < 0 ? -errno : 0;
}

/*
 * Blocks signals before the file gets its hidden name, until the rename. A process that ends in
 * between would leave the hidden file.
 */
static void hold_signals(sigset_t *before)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, before);
}

/* Gives a hidden name to a file without a name, because the rename needs a name. */
static int output_name_hidden(struct output *output)
{
	const struct output_place *place = &output->place;
	_cleanup_free_ char *hidden = NULL;
	int r = hidden_file_link(output->fd, place->folder, place->name, &hidden);

	return r < 0 ? r : output_set_temporary(output, hidden);
}

/* Returns the hidden name in the folder of the file. */
static const char *output_hidden(const struct output *output)
{
	return output->temporary + (output->place.name - output->place.path);
}

/* Closes the file before the rename: if close() fails, the old file must stay. */
static int output_rename(struct output *output)
{
	int r = output->temporary ? 0 : output_name_hidden(output);
	int closed = output_close_file(output);

	if (r < 0)
		return r;
	r = closed;
	if (r < 0)
		return r;
	r = output_place_take(&output->place, output_hidden(output));
	if (r < 0)
		return r;
	free(take_ptr(output->temporary));
	return 0;
}

int output_commit(struct output *output, struct error *error)
{
	sigset_t before;
	int r;

	write_text(output, true);
	r = output->failed;
	output_trim(output);
	hold_signals(&before);
	if (r == 0)
		r = output->replaces ? output_rename(output) : output_close_file(output);
	if (r < 0 && r != -EPIPE)
		output_error(r, output_name(output), error);
	output_done(output);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

const char *output_temporary(const struct output *output)
{
	return output->temporary;
}

void output_done(struct output *output)
{
	output->gz = gzip_writer_free(output->gz);
	if (output->place.path && output->fd >= 0)
		close(take_fd(output->fd));
	if (output->temporary)
		unlinkat(output->place.folder, output_hidden(output), 0);
	free(take_ptr(output->temporary));
	output_place_done(&output->place);
	buffer_done(&output->text);
}
