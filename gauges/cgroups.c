// SPDX-License-Identifier: GPL-2.0-only
#include "gauges/cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define COUNT_MAX 200000
#define TIME_MAX_NS (NSEC_PER_SEC / 2)
#define DEPTH_MAX 64
/*
 * The number of hard links of a folder without subfolders, in kernfs and in most file systems that
 * may contain a copied tree.
 */
#define LINKS_OF_LEAF 2
/* The namespace number PROC_CGROUP_INIT_INO of the kernel. */
#define FIRST_NAMESPACE "cgroup:[4026531835]"

struct mount {
	struct words root, point, type, options;
};

/* Parses "36 35 98:0 /root /point options tags... - type source superoptions". */
static bool parse_mount(struct words line, struct mount *ret_mount)
{
	struct words word;

	for (int i = 0; i < 3; i++)
		if (!words_next(&line, &word))
			return false;
	if (!words_next(&line, &ret_mount->root) || !words_next(&line, &ret_mount->point))
		return false;
	do
		if (!words_next(&line, &word))
			return false;
	while (!words_equal(&word, "-"));
	return words_next(&line, &ret_mount->type) && words_next(&line, &word) &&
	       words_next(&line, &ret_mount->options);
}

static bool has_option(struct words options, const char *name)
{
	while (options.at < options.end) {
		const char *comma = memchr(options.at, ',', options.end - options.at);
		struct words option = { options.at, comma ? comma : options.end };

		if (words_equal(&option, name))
			return true;
		options.at = comma ? comma + 1 : options.end;
	}
	return false;
}

static bool is_octal(const char *at)
{
	return at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' && at[2] >= '0' &&
	       at[2] <= '7';
}

/*
 * Decodes a mount point. In mountinfo, "\040" and similar codes stand for blanks, newlines and
 * backslashes.
 */
static int take_path(const char *root, struct words point, char path[PATH_MAX])
{
	size_t size = strlen(root);

	if (size + (point.end - point.at) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, root, size);
	while (point.at < point.end) {
		if (*point.at == '\\' && point.end - point.at >= 4 && is_octal(point.at + 1)) {
			path[size++] = (point.at[1] - '0') << 6 | (point.at[2] - '0') << 3 |
				       (point.at[3] - '0');
			point.at += 4;
		} else {
			path[size++] = *point.at++;
		}
	}
	path[size] = 0;
	return 0;
}

/*
 * Returns whether the unified hierarchy has the controller. If not, a version 1 hierarchy may have
 * it.
 */
static bool unified_has(const char *path, const char *controller)
{
	struct source_file file;
	struct words text, word;
	bool has = false;
	size_t size = strlen(path);

	if (!controller)
		return true;
	source_file_init(&file, path, "/cgroup.controllers");
	if (size && source_file_read(&file, PATH_MAX) == 0) {
		text = (struct words){ file.text, file.text + strcspn(file.text, "\n") };
		while (!has && words_next(&text, &word))
			has = words_equal(&word, controller);
	}
	source_file_done(&file);
	return has;
}

/*
 * Returns whether we see the whole hierarchy. A container with its own cgroup namespace sees its
 * part as the top. The first namespace has a fixed number. If the link is missing, the kernel is
 * too old to have other namespaces.
 */
static bool is_in_first_namespace(const char *root)
{
	char path[PATH_MAX], target[64] = "";

	if (snprintf(path, sizeof(path), "%s/proc/self/ns/cgroup", root) >= (int)sizeof(path) ||
	    readlink(path, target, sizeof(target) - 1) < 0)
		return true;
	return strcmp(target, FIRST_NAMESPACE) == 0;
}

int cgroups_find(const char *root, const char *controller, struct words mountinfo,
		 struct cgroups *ret_cgroups)
{
	struct mount mount;
	struct words line;
	int r = -ENOENT;

	while (r == -ENOENT && words_line(&mountinfo, &line)) {
		if (!parse_mount(line, &mount))
			continue;
		ret_cgroups->v1 = words_equal(&mount.type, "cgroup");
		ret_cgroups->part = !words_equal(&mount.root, "/");
		if (ret_cgroups->v1 ? !controller || !has_option(mount.options, controller)
				    : !words_equal(&mount.type, "cgroup2"))
			continue;
		if (take_path(root, mount.point, ret_cgroups->path) == 0 &&
		    (ret_cgroups->v1 || unified_has(ret_cgroups->path, controller)))
			r = 0;
	}
	if (r < 0)
		return r;
	if (ret_cgroups->v1 && !is_in_first_namespace(root))
		ret_cgroups->part = true;
	return 0;
}

struct walk {
	int (*see)(void *context, const struct cgroups_seen *seen);
	void *context;
	uint64_t count;
	uint64_t until_ns;
	char name[PATH_MAX];
};

static int walk_children(struct walk *walk, int fd, size_t size, int depth);

/*
 * Visits a folder. Ignores a folder that vanished meanwhile, and does not open a folder without
 * subfolders.
 */
static int walk_child(struct walk *walk, int dir_fd, const char *name, size_t size, int depth)
{
	struct cgroups_seen seen = { walk->name, dir_fd, name, 0 };
	struct stat about;
	int r = 0, fd;

	if (fstatat(dir_fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(about.st_mode))
		return 0;
	if (snprintf(walk->name + size, PATH_MAX - size, "/%s", name) >= (int)(PATH_MAX - size))
		return -ENAMETOOLONG;
	if (++walk->count > COUNT_MAX || depth > DEPTH_MAX ||
	    clock_ns(CLOCK_THREAD_CPUTIME_ID) > walk->until_ns)
		return -EFBIG;
	seen.inode = about.st_ino;
	if (walk->see)
		r = walk->see(walk->context, &seen);
	if (r < 0 || about.st_nlink == LINKS_OF_LEAF)
		return r;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? 0 : walk_children(walk, fd, size + 1 + strlen(name), depth + 1);
}

/* Returns whether an entry is the folder of a child. A cgroup's name may begin with a dot. */
static bool is_child(const struct dirent *entry)
{
	return (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
	       strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Takes ownership of the descriptor. */
static int walk_children(struct walk *walk, int fd, size_t size, int depth)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	while (r == 0 && (entry = readdir(dir)))
		if (is_child(entry)) {
			r = walk_child(walk, dirfd(dir), entry->d_name, size, depth);
			walk->name[size] = 0;
		}
	closedir(dir);
	return r;
}

int cgroups_walk(const char *path, int (*see)(void *context, const struct cgroups_seen *seen),
		 void *context, uint64_t *ret_count)
{
	struct walk walk = { see, context, 1, clock_ns(CLOCK_THREAD_CPUTIME_ID) + TIME_MAX_NS, "" };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cgroups_seen seen = { walk.name, fd, ".", 0 };
	struct stat about;
	int r = 0;

	if (fd < 0 || fstat(fd, &about) < 0)
		return -errno;
	seen.inode = about.st_ino;
	if (see)
		r = see(context, &seen);
	if (r == 0)
		r = walk_children(&walk, take_fd(fd), 0, 1);
	*ret_count = walk.count;
	return r;
}
