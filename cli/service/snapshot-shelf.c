// SPDX-License-Identifier: GPL-2.0-only
#include "cli/service/snapshot-shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "store/disk/files.h"

/* "20261118T031240Z" */
#define TIME_SIZE 16

struct snapshot_shelf_file {
	char name[NAME_MAX + 1];
	char time[TIME_SIZE + 1];
	uint64_t bytes;
};

struct snapshot_shelf {
	array_of(struct snapshot_shelf_file) files;
	uint64_t bytes;
};

int snapshot_shelf_make(const char *folder)
{
	struct stat about;
	int r = file_make_dirs(folder, 0700);

	if (r < 0)
		return r;
	if (stat(folder, &about) < 0)
		return -errno;
	if (!S_ISDIR(about.st_mode))
		return -ENOTDIR;
	return access(folder, W_OK | X_OK) < 0 ? -errno : 0;
}

static bool snapshot_shelf_ends_in(const char *name, const char *end)
{
	size_t size = strlen(name), tail = strlen(end);

	return size > tail && strcmp(name + size - tail, end) == 0;
}

/* Finds the time in HOST-TIME-KIND-ID.tape. A host's name may contain dashes, too. */
static bool snapshot_shelf_read_time(const char *name, char time[TIME_SIZE + 1])
{
	if (*name == '.' || !(snapshot_shelf_ends_in(name, STORE_SUFFIX) ||
			      snapshot_shelf_ends_in(name, SNAPSHOT_SHELF_TEXT)))
		return false;
	for (const char *dash = strchr(name, '-'); dash; dash = strchr(dash + 1, '-')) {
		char day[9], second[7];
		int end = 0;

		if (sscanf(dash, "-%8[0-9]T%6[0-9]Z-%n", day, second, &end) == 2 &&
		    end == TIME_SIZE + 2) {
			snprintf(time, TIME_SIZE + 1, "%sT%sZ", day, second);
			return true;
		}
	}
	return false;
}

static int snapshot_shelf_see(struct snapshot_shelf *shelf, int folder, const char *name)
{
	struct snapshot_shelf_file file = { 0 };
	struct stat about;

	/* leave the files of other people in a shared folder */
	if (!snapshot_shelf_read_time(name, file.time) ||
	    fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(about.st_mode) ||
	    about.st_uid != geteuid())
		return 0;
	snprintf(file.name, sizeof(file.name), "%s", name);
	file.bytes = about.st_size;
	shelf->bytes += file.bytes;
	return array_push(&shelf->files, file);
}

static int snapshot_shelf_compare(const void *a, const void *b)
{
	const struct snapshot_shelf_file *first = a, *second = b;
	int order = strcmp(first->time, second->time);

	return order ? order : strcmp(first->name, second->name);
}

int snapshot_shelf_trim(const char *folder, uint64_t max_bytes, size_t max_files,
			void (*removed)(void *context, const char *name), void *context)
{
	struct snapshot_shelf shelf = { 0 };
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t left;
	int r = 0;

	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir)))
		r = snapshot_shelf_see(&shelf, dirfd(dir), entry->d_name);
	left = shelf.files.count;
	if (left)
		qsort(shelf.files.items, left, sizeof(*shelf.files.items), snapshot_shelf_compare);
	for (size_t i = 0; r == 0 && left > 1 && (shelf.bytes > max_bytes || left > max_files);
	     i++, left--) {
		const struct snapshot_shelf_file *file = &shelf.files.items[i];

		if (unlinkat(dirfd(dir), file->name, 0) < 0 && errno != ENOENT)
			r = -errno;
		else
			removed(context, file->name);
		shelf.bytes -= file->bytes;
	}
	array_done(&shelf.files);
	closedir(dir);
	return r;
}
