// SPDX-License-Identifier: GPL-2.0-only
#include "store/write/folder-rights.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/beneath.h"
#include "base/cleanup.h"
#include "store/disk/files.h"

#define STRANGER_TEXT                                                                            \
	"%s: uid %u owns %s, so that user could replace the store; record with --user, or give " \
	"another --store"
#define GROUP_TEXT \
	"%s: uid %u is not in the --group; add it, or let root record into a new store with --user"

/* Returns whether the user is root, our user, or the person for whom sudo runs us. */
static bool folder_rights_trusts(uid_t uid)
{
	const char *sudo = secure_getenv("SUDO_UID");

	return uid == 0 || uid == geteuid() || (sudo && *sudo && uid == strtoul(sudo, NULL, 10));
}

/* Checks that strangers cannot replace names in this folder. */
static int folder_rights_check_above(const char *store, const char *folder, struct error *error)
{
	struct stat about, link;

	if (lstat(folder, &link) < 0 || stat(folder, &about) < 0)
		return 0;
	if (!folder_rights_trusts(about.st_uid))
		return error_set(error, -EPERM, STRANGER_TEXT, store, about.st_uid, folder);
	if (S_ISLNK(link.st_mode) && !folder_rights_trusts(link.st_uid))
		return error_set(error, -EPERM, STRANGER_TEXT, store, link.st_uid, folder);
	/* in a sticky folder like /tmp, only the owner of a name can move it */
	if (about.st_mode & S_ISVTX)
		return 0;
	if (about.st_mode & S_IWOTH ||
	    (about.st_mode & S_IWGRP && about.st_gid != 0 && about.st_gid != getegid()))
		return error_set(error, -EPERM,
				 "%s: other users can write to %s; give another --store", store,
				 folder);
	return 0;
}

static int folder_rights_check_way(const char *store, const char *path, struct error *error)
{
	char folder[PATH_MAX];

	for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		int size = MAX(end - path, 1), r;

		if (!end[1] || snprintf(folder, sizeof(folder), "%.*s", size, path) >= PATH_MAX)
			break;
		r = folder_rights_check_above(store, folder, error);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * We open the files of a store by its path. If a stranger could move a folder of this path, root
 * would write to the place that the stranger chose. Checks both the given path and the path that it
 * resolves to.
 */
static int folder_rights_check_path(const char *path, struct error *error)
{
	_cleanup_free_ char *here = *path == '/' ? strdup("") : realpath(".", NULL);
	_cleanup_free_ char *real = realpath(path, NULL);
	char given[PATH_MAX];
	int r;

	if (!here)
		return -ENOMEM;
	if (snprintf(given, sizeof(given), "%s%s%s", here, *here ? "/" : "", path) >= PATH_MAX)
		return error_set(error, -ENAMETOOLONG, "%s: the path is too long", path);
	r = folder_rights_check_way(path, given, error);
	return r == 0 && real ? folder_rights_check_way(path, real, error) : r;
}

int folder_rights_check(const char *path, struct error *error)
{
	struct stat about;

	if (geteuid() == 0) {
		int r = folder_rights_check_path(path, error);

		if (r < 0)
			return r;
	}
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

/* Returns 1 if the file gave rights to others and no longer does. */
static int folder_rights_tighten_one(int fd, mode_t keep)
{
	struct stat about;

	if (fstat(fd, &about) < 0)
		return -errno;
	if (about.st_uid != geteuid() || !(about.st_mode & 0777 & ~keep))
		return 0;
	if (fchmod(fd, about.st_mode & (keep | S_ISGID)) < 0 || fstat(fd, &about) < 0)
		return -errno;
	/* file systems without modes accept the call and ignore it */
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
		/* a closed folder protects its files, so this loop checks them only once */
		if (r > 0) {
			folder_rights_tighten_files(path, folders[i], keep);
			changed = 1;
		}
	}
	return changed;
}

/*
 * Gives one file or folder to the group. Changes only a wrong group or mode, because a process
 * without rights cannot repeat a change. The system call filter of a unit forbids to set the
 * set-group-id bit.
 */
static int folder_rights_give_one(int fd, uid_t owner, gid_t group, mode_t mode)
{
	struct stat about;

	if (fstat(fd, &about) < 0)
		return -errno;
	/* skip a hard link, which may lead to a file of somebody else */
	if (about.st_uid != owner || (S_ISREG(about.st_mode) && about.st_nlink > 1))
		return 0;
	if (about.st_gid != group && fchown(fd, -1, group) < 0)
		return -errno;
	if ((about.st_mode & mode) == mode)
		return 0;
	if (fchmod(fd, mode) == 0)
		return 0;
	/* without the set-group-id bit, new files get the group of the process */
	return errno == EPERM && fchmod(fd, mode & ~S_ISGID) == 0 ? 0 : -errno;
}

static bool folder_rights_is_lock(const char *name)
{
	static const char *const locks[] = { STORE_LOCK, STORE_NOTES_LOCK, STORE_RESEAL_LOCK };

	for (size_t i = 0; i < ARRAY_SIZE(locks); i++)
		if (strcmp(name, locks[i]) == 0)
			return true;
	return false;
}

/* Gives the files of a folder to the group. Nobody but the owner may open the lock. */
static int folder_rights_give_files(int folder, uid_t owner, gid_t group)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while (r == 0 && (entry = readdir(dir))) {
		_cleanup_close_ int file = -1;

		if (entry->d_type != DT_REG || folder_rights_is_lock(entry->d_name))
			continue;
		file = openat(fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (file >= 0)
			r = folder_rights_give_one(file, owner, group, STORE_FILE_MODE);
	}
	closedir(dir);
	return r;
}

static int folder_rights_give(int fd, gid_t group)
{
	static const char *const folders[] = { STORE_SEGMENTS, STORE_SPOOLS, STORE_NAMES, "." };
	struct stat about;
	int r = fstat(fd, &about) < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++) {
		_cleanup_close_ int folder =
			openat(fd, folders[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (folder < 0)
			continue;
		r = folder_rights_give_files(folder, about.st_uid, group);
		if (r < 0)
			return r;
		r = folder_rights_give_one(folder, about.st_uid, group,
					   S_ISGID | STORE_FOLDER_MODE);
	}
	return r;
}

int folder_rights_set_group(const char *path, gid_t group, struct error *error)
{
	/*
	 * systemd makes the store a link; folder_rights_check() has checked the folder that it
	 * leads to
	 */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : folder_rights_give(fd, group);

	if (r == -EPERM)
		return error_set(error, r, GROUP_TEXT, path, geteuid());
	return r < 0 ? error_set(error, r, "%s: cannot give it to the group: %s", path,
				 strerror(-r))
		     : 0;
}
