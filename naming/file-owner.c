// SPDX-License-Identifier: GPL-2.0-only
#include "naming/file-owner.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/*
 * Returns whether strangers can replace neither this file, folder or link of a path, nor the files
 * in a folder.
 */
static bool is_step_of(const char *step, uid_t owner)
{
	struct stat about;

	if (lstat(step, &about) < 0)
		return false;
	/* the mode of a link does not matter; the link's owner chose the target */
	if (S_ISLNK(about.st_mode))
		return is_trusted(about.st_uid);
	return (is_trusted(about.st_uid) || about.st_uid == owner) && !(about.st_mode & S_IWOTH);
}

static bool is_path_of(const char *path, uid_t owner)
{
	char step[PATH_MAX];

	if (*path != '/' || !is_step_of("/", owner))
		return false;
	for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
		if (snprintf(step, sizeof(step), "%.*s", (int)(end - path), path) >= PATH_MAX ||
		    !is_step_of(step, owner))
			return false;
	}
	return snprintf(step, sizeof(step), "%s", path) < PATH_MAX && is_step_of(step, owner);
}

/* Checks the path without links, too, as the kernel states it for the descriptor. */
static bool is_place_of(int fd, uid_t owner)
{
	char link[40], place[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, place, sizeof(place) - 1);
	if (size < 0)
		return false;
	place[size] = 0;
	return is_path_of(place, owner);
}

bool file_owner_vouches(int fd, const char *path)
{
	struct stat about;

	if (fstat(fd, &about) < 0)
		return false;
	if (is_trusted(about.st_uid))
		return !(about.st_mode & S_IWOTH);
	return is_path_of(path, about.st_uid) && is_place_of(fd, about.st_uid);
}

bool file_owner_is_of(int fd, int of)
{
	struct stat about, other;

	return fstat(fd, &about) == 0 && fstat(of, &other) == 0 &&
	       (is_trusted(about.st_uid) || about.st_uid == other.st_uid);
}
