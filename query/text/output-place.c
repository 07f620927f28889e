// SPDX-License-Identifier: GPL-2.0-only
#include "query/text/output-place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#ifndef PIPEFS_MAGIC
#define PIPEFS_MAGIC 0x50495045
#endif

/* The largest number of links to follow, as in the kernel. */
#define LINKS_MAX 40

void output_place_done(struct output_place *place)
{
	if (place->folder >= 0)
		close(take_fd(place->folder));
	if (place->special >= 0)
		close(take_fd(place->special));
	free(take_ptr(place->path));
}

static bool output_place_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Returns whether another user owns the file. This protects root most of all, because the kernel
 * lets root replace any file.
 */
static bool output_place_is_foreign(const struct stat *about)
{
	return about->st_uid != geteuid();
}

/*
 * Opens a device or a pipe. A named pipe of another user would give the answer to that user. If a
 * pipe has no name, somebody passed it to us on purpose.
 */
static int output_place_open_special(struct output_place *place, int file, const struct stat *about)
{
	struct statfs system;
	char self[40];

	if (S_ISDIR(about->st_mode))
		return -EISDIR;
	if (S_ISFIFO(about->st_mode) && !place->force && output_place_is_foreign(about) &&
	    (fstatfs(file, &system) < 0 || system.f_type != PIPEFS_MAGIC))
		return -EPERM;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
	place->special = open(self, O_WRONLY | O_CLOEXEC);
	if (place->special < 0 && errno == ENOENT)
		place->special = open(place->path, O_WRONLY | O_CLOEXEC);
	return place->special < 0 ? -errno : 0;
}

/* Opens the folder of the path. A relative path begins at the folder `from`. */
static int output_place_open_folder(int from, const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	size_t size = slash ? (size_t)(slash - path) + 1 : 0;
	int fd;

	if (size >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, path, size);
	folder[size] = 0;
	fd = openat(from, size ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static const char *output_place_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns whether the rule of fs.protected_symlinks allows a link. Some machines have this rule
 * off.
 */
static bool output_place_may_follow(const struct output_place *place, const struct stat *link)
{
	struct stat folder;

	if (fstat(place->folder, &folder) < 0)
		return false;
	return (folder.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) ||
	       link->st_uid == geteuid() || link->st_uid == folder.st_uid;
}

/* Goes to the target of the link that has the place's name. */
static int output_place_follow(struct output_place *place)
{
	char target[PATH_MAX], *next = NULL;
	ssize_t size = readlinkat(place->folder, place->name, target, sizeof(target) - 1);
	int folder;

	if (size < 0)
		return -errno;
	target[size] = 0;
	folder = output_place_open_folder(place->folder, target);
	if (folder < 0)
		return folder;
	close(place->folder);
	place->folder = folder;
	if (asprintf(&next, "%.*s%s", *target == '/' ? 0 : (int)(place->name - place->path),
		     place->path, target) < 0)
		return -ENOMEM;
	free(place->path);
	place->path = next;
	place->name = output_place_name(next);
	return *place->name ? 0 : -EISDIR;
}

/* Follows the links. *ret_about has st_nlink 0 if the file does not exist. */
static int output_place_walk(struct output_place *place, struct stat *ret_about)
{
	for (int i = 0; i <= LINKS_MAX; i++) {
		int r;

		if (fstatat(place->folder, place->name, ret_about, AT_SYMLINK_NOFOLLOW) < 0) {
			*ret_about = (struct stat){ 0 };
			return errno == ENOENT ? 0 : -errno;
		}
		if (!S_ISLNK(ret_about->st_mode))
			return 0;
		if (!output_place_may_follow(place, ret_about))
			return -EACCES;
		r = output_place_follow(place);
		if (r < 0)
			return r;
	}
	return -ELOOP;
}

static int output_place_find_file(struct output_place *place, const struct stat *seen)
{
	struct stat about;
	int r;

	place->folder = output_place_open_folder(AT_FDCWD, place->path);
	if (place->folder < 0)
		return place->folder;
	r = output_place_walk(place, &about);
	if (r < 0)
		return r;
	/*
	 * in /proc/self/fd, a removed file's path leads nowhere, and a replaced file's to another
	 * file
	 */
	if (seen ? !output_place_same(&about, seen) : about.st_nlink != 0)
		return seen && !about.st_nlink ? -ENOENT : -ESTALE;
	if (!seen)
		return 0;
	if (output_place_is_foreign(seen) && !place->force)
		return -EPERM;
	place->there = true;
	place->mode = seen->st_mode & 0777;
	return 0;
}

/* Asks the kernel first, because it knows magic links and refuses links that it protects. */
static int output_place_look(struct output_place *place)
{
	_cleanup_close_ int file = open(place->path, O_PATH | O_CLOEXEC);
	struct stat about, ours;

	if (file < 0)
		return errno == ENOENT ? output_place_find_file(place, NULL) : -errno;
	if (fstat(file, &about) < 0)
		return -errno;
	if (!S_ISREG(about.st_mode))
		return output_place_open_special(place, file, &about);
	place->is_standard_output =
		fstat(STDOUT_FILENO, &ours) == 0 && output_place_same(&about, &ours);
	return place->is_standard_output ? 0 : output_place_find_file(place, &about);
}

int output_place_find(const char *path, bool force, struct output_place *ret_place)
{
	struct output_place place = { .folder = -1, .special = -1, .force = force };
	int r;

	place.path = strdup(path);
	if (!place.path)
		return -ENOMEM;
	place.name = output_place_name(place.path);
	r = *place.name ? output_place_look(&place) : *path ? -EISDIR : -ENOENT;
	if (r < 0) {
		output_place_done(&place);
		return r;
	}
	*ret_place = place;
	return 0;
}

char *output_place_foreign_link(const char *path)
{
	struct output_place place = { .folder = -1, .special = -1 };
	char *link = NULL;
	struct stat about;

	place.path = strdup(path);
	if (!place.path)
		return NULL;
	place.name = output_place_name(place.path);
	place.folder = output_place_open_folder(AT_FDCWD, place.path);
	if (place.folder >= 0 && output_place_walk(&place, &about) == -EACCES &&
	    S_ISLNK(about.st_mode))
		link = take_ptr(place.path);
	output_place_done(&place);
	return link;
}

int output_place_take(const struct output_place *place, const char *temporary)
{
	struct stat about;

	if (!place->force &&
	    fstatat(place->folder, place->name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
	    output_place_is_foreign(&about))
		return -EPERM;
	return renameat(place->folder, temporary, place->folder, place->name) < 0 ? -errno : 0;
}
