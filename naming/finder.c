// SPDX-License-Identifier: GPL-2.0-only
#include "naming/finder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "base/file.h"
#include "naming/file-owner.h"
#include "naming/proc-maps.h"
#include "naming/process-root.h"
#include "naming/process.h"
#include "symbolizer/elf.h"

#define KALLSYMS_LIMIT (256u << 20)
#define MAPS_LIMIT (16u << 20)
/*
 * A process may map a path many times, and may have mapped other files under the same path before.
 */
#define MAPS_TRIED 16
#define SYSTEM_DEBUG_DIR "/usr/lib/debug"
/* The kernel appends this text to the path of a deleted file. */
#define DELETED " (deleted)"

static bool same_build_id(const struct tape_module *module, const uint8_t *id, size_t size)
{
	return size == module->build_id_size && memcmp(id, module->build_id, size) == 0;
}

/*
 * Returns whether the file changed after the recording, because it may then contain other code at
 * the same place. ctime shows a change even if mtime was set back.
 */
static bool finder_unchanged(const struct stat *about, uint64_t until_ns)
{
	uint64_t modified = about->st_mtim.tv_sec * NSEC_PER_SEC + about->st_mtim.tv_nsec;
	uint64_t changed = about->st_ctim.tv_sec * NSEC_PER_SEC + about->st_ctim.tv_nsec;

	return !until_ns || (modified <= until_ns && changed <= until_ns);
}

/*
 * Compares inode and device number. On btrfs, each subvolume has its own device number, but the
 * kernel's record has the number of the file system.
 */
static bool same_inode(int fd, const struct stat *about, const struct tape_module *module)
{
	struct statfs system;

	if (!module->inode || about->st_ino != module->inode)
		return false;
	return about->st_dev == module->device ||
	       (fstatfs(fd, &system) == 0 && system.f_type == BTRFS_SUPER_MAGIC);
}

/*
 * Verifies that an open file is the module's file. A build-id alone is not a proof, because anybody
 * can copy it. It counts only if strangers cannot have put the file at `place` (NULL: unknown). A
 * file with the right inode does not need a build-id. Returns 0, -ESTALE, -EBADMSG, or the errors
 * of the naming helper.
 */
static int same_file(const struct finder *finder, int fd, struct tape_module *module,
		     const char *place, uint64_t until_ns)
{
	struct name_identity identity = { 0 };
	struct stat about;
	int r = name_helper_identity(finder->helper, fd, &identity);

	if (r == -ENOMEM)
		return r;
	if (module->build_id_size &&
	    !same_build_id(module, identity.build_id, identity.build_id_size))
		return r < 0 ? r : -ESTALE;
	if (module->build_id_size && place && file_owner_vouches(fd, place))
		return 0;
	if (fstat(fd, &about) < 0 || !same_inode(fd, &about, module) ||
	    !finder_unchanged(&about, until_ns))
		return -ESTALE;
	module->build_id_size = identity.build_id_size;
	memcpy(module->build_id, identity.build_id, identity.build_id_size);
	return 0;
}

/* Verifies an open file and returns its descriptor. Closes a file that is not the module's. */
static int open_checked(const struct finder *finder, int opened, struct tape_module *module,
			const char *place, uint64_t until_ns)
{
	_cleanup_close_ int fd = opened;
	int r = fd < 0 ? fd : same_file(finder, fd, module, place, until_ns);

	return r < 0 ? r : take_fd(fd);
}

/*
 * Chooses the error to report after two places failed: the error of the place that is more likely
 * to have the file.
 */
static int finder_best_error(int r, int other)
{
	static const int order[] = { -EPROTO,  -ETIME,	-EFBIG,	  -ECHILD, -ESTALE,
				     -EBADMSG, -EACCES, -EREMOTE, -ENOENT };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (r == order[i] || other == order[i])
			return order[i];
	return -ENOENT;
}

/* Maps errors of opening a path to those of finder_find(). */
static int plain_error(int r)
{
	if (r == -EPERM)
		return -EACCES;
	return r == -ELOOP ? -ESTALE : r;
}

/* Returns whether the kernel's text is `path`, with or without DELETED behind it. */
static bool is_mapped_path(const char *text, const char *path)
{
	size_t size = strlen(path);

	return strncmp(text, path, size) == 0 && (!text[size] || !strcmp(text + size, DELETED));
}

static unsigned int remote_flag(const struct finder *finder)
{
	return finder->remote ? PROCESS_ROOT_REMOTE : 0;
}

/*
 * Opens a file through a link of /proc. The kernel resolves such a link to the mapped file itself,
 * whatever its name is now. The file is the right one if the target of the link is the mapping's
 * path.
 */
static int open_link(const struct finder *finder, int32_t pid, const char *link,
		     struct tape_module *module, const char *path, uint64_t until_ns)
{
	_cleanup_close_ int fd = -1, path_fd = -1;
	char target[PATH_MAX];
	ssize_t size = readlink(link, target, sizeof(target) - 1);
	struct tape_module here = *module;
	struct statfs system;
	struct stat about;

	if (size < 0)
		return -errno;
	target[size] = 0;
	if (!is_mapped_path(target, path))
		return -ENOENT;
	path_fd = open(link, O_PATH | O_CLOEXEC);
	fd = path_fd < 0 ? -errno : process_root_reopen(pid, path_fd, remote_flag(finder));
	if (fd < 0 || fstat(fd, &about) < 0 || fstatfs(fd, &system) < 0)
		return fd < 0 ? fd : -errno;
	/* in an overlay the record may have the inode of the lower file */
	if (about.st_ino == module->inode || system.f_type == OVERLAYFS_SUPER_MAGIC) {
		here.inode = about.st_ino;
		here.device = about.st_dev;
	}
	/*
	 * deleting a file changes its ctime, but not its content, so ignore the ctime of a deleted
	 * file
	 */
	return open_checked(finder, take_fd(fd), &here, NULL, about.st_nlink ? until_ns : 0);
}

/* Opens a file through the process's mapping of it. */
static int open_map_file(const struct finder *finder, int32_t pid, struct tape_module *module,
			 const char *path, uint64_t until_ns)
{
	_cleanup_free_ char *maps = NULL;
	char name[40], link[80], *rest;
	struct proc_map map;
	int r, best = -ENOENT, tried = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	r = file_read(name, MAPS_LIMIT, &maps, NULL);
	rest = maps;
	if (r < 0)
		return r;
	while (tried < MAPS_TRIED && proc_maps_next(&rest, &map)) {
		if (!is_mapped_path(map.path, path))
			continue;
		snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
			 map.start, map.end);
		r = open_link(finder, pid, link, module, path, until_ns);
		if (r >= 0)
			return r;
		best = finder_best_error(best, plain_error(r));
		tried++;
	}
	return best;
}

/*
 * Opens a mapped file through links of /proc. Such a link does not lead through the mount points,
 * so the function first checks the mounts to find out whether the file is remote.
 */
static int open_mapped(const struct finder *finder, int32_t pid, struct tape_module *module,
		       const char *path, uint64_t until_ns)
{
	char link[40];
	int r = finder->remote ? 0 : process_root_refuse_remote(pid, path, module->device), fd;

	if (r < 0)
		return r;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	fd = open_link(finder, pid, link, module, path, until_ns);
	return fd == -ENOENT ? open_map_file(finder, pid, module, path, until_ns) : fd;
}

/* Opens "DIR/.build-id/ab/cdef...SUFFIX". */
static int open_by_build_id(const struct finder *finder, const char *dir,
			    const struct tape_module *module, const char *suffix)
{
	struct name_identity identity;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int used;

	if (module->build_id_size < 2)
		return -ENOENT;
	used = snprintf(path, sizeof(path) - 128, "%s/.build-id/%02x/", dir, module->build_id[0]);
	if (used >= (int)sizeof(path) - 128)
		return -ENAMETOOLONG;
	for (size_t i = 1; i < module->build_id_size; i++)
		used += sprintf(path + used, "%02x", module->build_id[i]);
	strcpy(path + used, suffix);
	fd = process_root_open(0, path, 0, PROCESS_ROOT_LINKS | remote_flag(finder));
	if (fd < 0)
		return fd;
	/* the folder is trusted, so the build-id is enough */
	if (name_helper_identity(finder->helper, fd, &identity) < 0 || !identity.build_id_size ||
	    !same_build_id(module, identity.build_id, identity.build_id_size))
		return -ESTALE;
	return take_fd(fd);
}

static int open_module(const struct finder *finder, struct finder_request *request)
{
	unsigned int flags = remote_flag(finder);
	struct tape_module *module = &request->module;
	const char *path = request->path;
	char name[PATH_MAX];
	int fd = -ENOENT, other;

	/* if the process mapped the file after its deletion, the path ends with DELETED */
	snprintf(name, sizeof(name), "%s", path);
	if (strlen(name) > strlen(DELETED) &&
	    !strcmp(name + strlen(name) - strlen(DELETED), DELETED))
		name[strlen(name) - strlen(DELETED)] = 0;
	if (finder->live && request->pid > 0) {
		fd = open_checked(finder,
				  process_root_open(request->pid, name, module->device, flags),
				  module, NULL, request->until_ns);
		if (fd < 0 && fd != -EREMOTE) {
			other = open_mapped(finder, request->pid, module, name, request->until_ns);
			fd = other >= 0 ? other
					: finder_best_error(plain_error(fd), plain_error(other));
		}
	}
	if (fd < 0 && name[0] == '/') {
		if (!finder->live)
			flags |= PROCESS_ROOT_LINKS;
		other = open_checked(finder, process_root_open(0, name, module->device, flags),
				     module, name, request->until_ns);
		fd = other >= 0 ? other : finder_best_error(fd, plain_error(other));
	}
	if (fd < 0 && finder->debug_dir) {
		other = open_by_build_id(finder, finder->debug_dir, module, "/elf");
		fd = other >= 0 ? other : fd;
	}
	return fd;
}

/*
 * Opens a debug file that has the right CRC. Anybody can forge a CRC, so the file must belong to
 * the owner of the module's file.
 */
static int open_by_crc(const struct finder *finder, int32_t pid, const char *path, uint32_t crc,
		       int of)
{
	_cleanup_close_ int fd =
		process_root_open(pid, path, 0, PROCESS_ROOT_LINKS | remote_flag(finder));

	return fd >= 0 && file_owner_is_of(fd, of) &&
			       name_helper_has_crc(finder->helper, fd, crc) == 0
		       ? take_fd(fd)
		       : -ENOENT;
}

/*
 * Searches for the debug file beside the file, in the folder .debug there, and in the folders of
 * debug files.
 */
static int open_linked(const struct finder *finder, int32_t pid, const char *dir, const char *name,
		       uint32_t crc, int of)
{
	const char *const places[][3] = {
		{ "", dir, "/" },
		{ "", dir, "/.debug/" },
		{ SYSTEM_DEBUG_DIR, dir, "/" },
		{ pid || !finder->debug_dir ? NULL : finder->debug_dir, dir, "/" },
		{ pid || !finder->debug_dir ? NULL : finder->debug_dir, "", "/" }
	};
	char path[PATH_MAX];
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++)
		if (places[i][0] && snprintf(path, sizeof(path), "%s%s%s%s", places[i][0],
					     places[i][1], places[i][2], name) < (int)sizeof(path))
			fd = open_by_crc(finder, pid, path, crc, of);
	return fd;
}

static int open_debuglink(const struct finder *finder, const struct finder_request *request, int fd)
{
	const char *slash = strrchr(request->path, '/');
	_cleanup_free_ char *dir = NULL;
	struct name_identity identity;
	int debug_fd = -ENOENT;

	if (request->path[0] != '/' || name_helper_identity(finder->helper, fd, &identity) < 0 ||
	    !*identity.debuglink)
		return -ENOENT;
	dir = strndup(request->path, slash - request->path);
	if (!dir)
		return -ENOMEM;
	if (finder->live && request->pid > 0)
		debug_fd = open_linked(finder, request->pid, dir, identity.debuglink,
				       identity.debuglink_crc, fd);
	return debug_fd < 0
		       ? open_linked(finder, 0, dir, identity.debuglink, identity.debuglink_crc, fd)
		       : debug_fd;
}

/*
 * Opens the separate debug file of a module by its build-id, or by the name and CRC in the module's
 * file.
 */
static int open_debug(const struct finder *finder, const struct finder_request *request, int fd)
{
	const struct tape_module *module = &request->module;
	int debug_fd = open_by_build_id(finder, SYSTEM_DEBUG_DIR, module, ".debug");

	if (debug_fd < 0 && finder->debug_dir)
		debug_fd = open_by_build_id(finder, finder->debug_dir, module, ".debug");
	if (debug_fd < 0 && finder->debug_dir)
		debug_fd = open_by_build_id(finder, finder->debug_dir, module, "/debug");
	return debug_fd < 0 ? open_debuglink(finder, request, fd) : debug_fd;
}

void finder_files_close(struct finder_files *files)
{
	if (files->fd >= 0)
		close(files->fd);
	if (files->other_fd >= 0)
		close(files->other_fd);
	files->fd = files->other_fd = -1;
}

/*
 * Finds a process's perf map or jitdump. Opens files of the process itself only in a live tape, and
 * only if this process had the pid when the code was sampled.
 */
static int find_jit(const struct finder *finder, const struct finder_request *request,
		    struct finder_files *ret_files)
{
	if (finder->live) {
		ret_files->fd = process_open_perf_map(request->pid);
		ret_files->other_fd = process_open_jitdump(request->pid);
		/* check the process after opening the files, so that they certainly belong to it */
		if (process_began_after(request->pid, request->since_ns)) {
			finder_files_close(ret_files);
			return -ESTALE;
		}
	}
	if (ret_files->fd < 0)
		ret_files->fd = process_open_leftover_map(request->pid, request->until_ns);
	return ret_files->fd < 0 && ret_files->other_fd < 0 ? -ENOENT : 0;
}

int finder_find_here(const struct finder *finder, struct finder_request *request,
		     struct finder_files *ret_files)
{
	*ret_files = (struct finder_files){ -1, -1 };
	if (request->kind == FINDER_JIT)
		return find_jit(finder, request, ret_files);
	ret_files->fd = open_module(finder, request);
	if (ret_files->fd < 0) {
		int r = ret_files->fd;

		ret_files->fd = -1;
		return r;
	}
	ret_files->other_fd = MAX(open_debug(finder, request, ret_files->fd), -1);
	return 0;
}

int finder_find(const struct finder *finder, struct finder_request *request,
		struct finder_files *ret_files)
{
	*ret_files = (struct finder_files){ -1, -1 };
	if (finder->delegate)
		return finder->delegate(finder->context, finder, request, ret_files);
	return finder_find_here(finder, request, ret_files);
}

bool finder_kernel_runs(const uint8_t *build_id, size_t build_id_size)
{
	struct tape_module wanted = { .build_id_size = build_id_size };
	_cleanup_free_ char *notes = NULL;
	uint8_t running[ELF_BUILD_ID_MAX];
	size_t size, running_size = 0;

	memcpy(wanted.build_id, build_id, build_id_size);
	return file_read("/sys/kernel/notes", 1 << 20, &notes, &size) == 0 &&
	       elf_notes_build_id(notes, size, running, &running_size) > 0 &&
	       same_build_id(&wanted, running, running_size);
}

int finder_kallsyms(const struct finder *finder, const uint8_t *build_id, size_t build_id_size,
		    char **ret_text, size_t *ret_size, bool *ret_sure)
{
	char path[PATH_MAX];
	int used;

	*ret_sure = build_id_size || finder->live;
	if (!build_id_size || finder_kernel_runs(build_id, build_id_size))
		return file_read("/proc/kallsyms", KALLSYMS_LIMIT, ret_text, ret_size);
	if (!finder->debug_dir)
		return -ENOENT;
	used = snprintf(path, sizeof(path) - 128, "%s/[kernel.kallsyms]/", finder->debug_dir);
	if (used >= (int)sizeof(path) - 128)
		return -ENOENT;
	for (size_t i = 0; i < build_id_size; i++)
		used += sprintf(path + used, "%02x", build_id[i]);
	strcpy(path + used, "/kallsyms");
	return file_read(path, KALLSYMS_LIMIT, ret_text, ret_size);
}
