// SPDX-License-Identifier: GPL-2.0-only
#include "naming/finder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "symbolizer/elf.h"

#define KALLSYMS_LIMIT (256u << 20)
#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

static bool same_build_id(const struct tape_module *module, const uint8_t *id, size_t size)
{
	return size == module->build_id_size && memcmp(id, module->build_id, size) == 0;
}

/* One that changed after the recording may hold other code at the same place; ctime tells also where mtime was set back. */
static bool unchanged(const struct stat *about, uint64_t until_ns)
{
	uint64_t modified = about->st_mtim.tv_sec * NSEC_PER_SEC + about->st_mtim.tv_nsec;
	uint64_t changed = about->st_ctim.tv_sec * NSEC_PER_SEC + about->st_ctim.tv_nsec;

	return !until_ns || (modified <= until_ns && changed <= until_ns);
}

static bool same_file(int fd, struct tape_module *module, uint64_t until_ns)
{
	uint8_t build_id[ELF_BUILD_ID_MAX];
	struct stat about;
	size_t size = 0;

	if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
		return false;
	if (elf_build_id(fd, build_id, &size) <= 0)
		size = 0;
	if (module->build_id_size)
		return same_build_id(module, build_id, size);
	if (!module->inode || about.st_ino != module->inode || about.st_dev != module->device ||
		!unchanged(&about, until_ns))
		return false;
	module->build_id_size = size;
	memcpy(module->build_id, build_id, size);
	return true;
}

/* O_NONBLOCK: a FIFO in the place of a library must not hold us. */
static int open_same(const char *path, struct tape_module *module, uint64_t until_ns)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && !same_file(fd, module, until_ns)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* "DIR/.build-id/ab/cdef...SUFFIX" */
static int open_by_build_id(const char *dir, const struct tape_module *module, const char *suffix)
{
	struct tape_module wanted = *module;
	char path[PATH_MAX];
	int used;

	if (module->build_id_size < 2)
		return -1;
	used = snprintf(path, sizeof(path) - 128, "%s/.build-id/%02x/", dir, module->build_id[0]);
	if (used >= (int)sizeof(path) - 128)
		return -1;
	for (size_t i = 1; i < module->build_id_size; i++)
		used += sprintf(path + used, "%02x", module->build_id[i]);
	strcpy(path + used, suffix);
	return open_same(path, &wanted, 0);
}

int finder_open(const struct finder *finder, struct tape_module *module, const char *path,
	int32_t pid, uint64_t until_ns)
{
	char inside[PATH_MAX];
	int fd = -1;

	if (finder->live && pid > 0 &&
		snprintf(inside, sizeof(inside), "/proc/%d/root%s", pid, path) <
			(int)sizeof(inside))
		fd = open_same(inside, module, until_ns);
	if (fd < 0 && path[0] == '/')
		fd = open_same(path, module, until_ns);
	if (fd < 0 && finder->debug_dir)
		fd = open_by_build_id(finder->debug_dir, module, "/elf");
	return fd;
}

static int open_by_crc(const char *path, uint32_t crc)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat about;

	if (fd >= 0 &&
		(fstat(fd, &about) < 0 || !S_ISREG(about.st_mode) || !elf_has_crc(fd, crc))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Beside the file, in .debug there, or under /usr/lib/debug; all of it below a root. */
static int open_linked(const char *root, const char *dir, const char *name, uint32_t crc)
{
	static const char *const places[][2] = { { "", "/" }, { "", "/.debug/" },
		{ SYSTEM_DEBUG_DIR, "/" } };
	char path[PATH_MAX];
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++)
		if (snprintf(path, sizeof(path), "%s%s%s%s%s", root, places[i][0], dir,
			    places[i][1], name) < (int)sizeof(path))
			fd = open_by_crc(path, crc);
	return fd;
}

static int open_debuglink(const struct finder *finder, const char *path, int32_t pid, int fd)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = NULL;
	char name[ELF_DEBUGLINK_MAX], root[32];
	uint32_t crc;
	int debug_fd = -1;

	if (path[0] != '/' || elf_debuglink(fd, name, &crc) <= 0)
		return -1;
	dir = strndup(path, slash - path);
	if (!dir)
		return -1;
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	if (finder->live && pid > 0)
		debug_fd = open_linked(root, dir, name, crc);
	return debug_fd < 0 ? open_linked("", dir, name, crc) : debug_fd;
}

int finder_open_debug(const struct finder *finder, const struct tape_module *module,
	const char *path, int32_t pid, int fd)
{
	int debug_fd = open_by_build_id(SYSTEM_DEBUG_DIR, module, ".debug");

	if (debug_fd < 0 && finder->debug_dir)
		debug_fd = open_by_build_id(finder->debug_dir, module, "/debug");
	return debug_fd < 0 ? open_debuglink(finder, path, pid, fd) : debug_fd;
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
