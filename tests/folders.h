/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Folders of small files, without a shell: a test that copies thousands of files would spend most
 * of its time on starting shells. All functions CHECK.
 */

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/check.h"

/* "FOLDER/NAME" */
static inline void folders_join(const char *folder, const char *name, char path[PATH_MAX])
{
	CHECK(snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
}

/* Copies a file with its mode and times. */
static inline void folders_copy_file(const char *from, const char *to, const struct stat *about)
{
	const struct timespec times[] = { about->st_atim, about->st_mtim };
	_cleanup_close_ int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, about->st_mode);
	_cleanup_free_ char *data = NULL;
	size_t size;

	CHECK(fd >= 0);
	CHECK_EQ(file_read(from, 64 << 20, &data, &size), 0);
	CHECK_EQ(file_write_all(fd, data, size), 0);
	CHECK_EQ(futimens(fd, times), 0);
}

/* Copies the contents of a folder into another existing folder. */
static inline void folders_copy(const char *from, const char *to)
{
	DIR *dir = opendir(from);
	struct dirent *entry;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		char source[PATH_MAX], target[PATH_MAX];
		struct stat about;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		folders_join(from, entry->d_name, source);
		folders_join(to, entry->d_name, target);
		CHECK_EQ(lstat(source, &about), 0);
		if (S_ISDIR(about.st_mode)) {
			CHECK_EQ(mkdir(target, about.st_mode), 0);
			folders_copy(source, target);
		} else {
			folders_copy_file(source, target, &about);
		}
	}
	closedir(dir);
}

/* Counts the files in and below a folder whose names match the pattern. */
static inline size_t folders_count(const char *path, const char *pattern)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		char below[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		count += fnmatch(pattern, entry->d_name, 0) == 0;
		folders_join(path, entry->d_name, below);
		count += entry->d_type == DT_DIR ? folders_count(below, pattern) : 0;
	}
	closedir(dir);
	return count;
}
