// SPDX-License-Identifier: GPL-2.0-only
#include "store/write/folder-rights.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/beneath.h"
#include "base/cleanup.h"
#include "store/disk/files.h"

int folder_rights_check(const char *path, struct error *error)
{
	struct stat about;

	if (stat(path, &about) < 0 || !S_ISDIR(about.st_mode))
		return 0;
	if (about.st_uid != geteuid() && about.st_uid != 0)
		return error_set(
			error, -EPERM,
			"%s: it belongs to uid %u; run this as that user, or give another --store",
			path, about.st_uid);
	if (about.st_uid != geteuid() && (about.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(error, -EPERM,
				 "%s: other users can write there; give another --store", path);
	return 0;
}

/* Returns 1 if the file had rights of others. */
static int folder_rights_tighten_one(int fd, mode_t keep)
{
	struct stat about;

	if (fstat(fd, &about) < 0)
		return -errno;
	if (about.st_uid != geteuid() || !(about.st_mode & 0777 & ~keep))
		return 0;
	if (fchmod(fd, about.st_mode & (keep | S_ISGID)) < 0 || fstat(fd, &about) < 0)
		return -errno;
	/* file systems without modes take the call and change nothing */
	return !(about.st_mode & 0777 & ~keep);
}

static int folder_rights_tighten_files(const char *path, const char *folder, mode_t keep)
{
	int fd = beneath_open(path, folder, O_RDONLY | O_DIRECTORY, 0), changed = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		_cleanup_close_ int file = -1;

		if (entry->d_type != DT_REG)
			continue;
		file = openat(fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (file >= 0 && folder_rights_tighten_one(file, keep & 0666) > 0)
			changed = 1;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return changed;
}

int folder_rights_tighten(const char *path)
{
	static const char *const folders[] = { ".", STORE_SEGMENTS, STORE_SPOOLS, STORE_NAMES };
	mode_t keep = 0777 & ~store_umask(path);
	int changed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		_cleanup_close_ int fd = beneath_open(path, folders[i], O_RDONLY | O_DIRECTORY, 0);
		int r = fd < 0 ? 0 : folder_rights_tighten_one(fd, keep);

		if (r < 0)
			return r;
		/* a folder that was closed protects its files, so they are looked at only once */
		if (r > 0) {
			folder_rights_tighten_files(path, folders[i], keep);
			changed = 1;
		}
	}
	return changed;
}

int folder_rights_set_group(const char *path, gid_t group, struct error *error)
{
	/* systemd makes the store a link; folder_rights_check() saw where it leads */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fchown(fd, -1, group) < 0 || fchmod(fd, S_ISGID | STORE_FOLDER_MODE) < 0)
		return error_set(error, -errno, "%s: cannot give it to the group: %s", path,
				 strerror(errno));
	return 0;
}
