// SPDX-License-Identifier: GPL-2.0-only
#include "naming/process.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "naming/process-root.h"

#define STATUS_LIMIT (64u << 10)
#define MAPS_LIMIT (16u << 20)
#define AUXV_LIMIT (16u << 10)

/* Returns the process's pid in its innermost namespace; 0 if the process is gone. */
static int32_t inner_pid(int32_t pid)
{
	_cleanup_free_ char *status = NULL;
	char path[32], *line, *end;
	int32_t inner = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(path, STATUS_LIMIT, &status, NULL) < 0)
		return 0;
	line = strstr(status, "\nNSpid:");
	if (!line)
		return pid;
	line += strlen("\nNSpid:");
	line[strcspn(line, "\n")] = 0;
	for (long next = strtol(line, &end, 10); end != line; next = strtol(line, &end, 10)) {
		inner = next;
		line = end;
	}
	return inner;
}

static bool is_trusted(int fd, int32_t pid)
{
	struct stat about, process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && stat(path, &process) == 0 &&
	       (about.st_uid == process.st_uid || about.st_uid == 0);
}

static int open_trusted(int32_t pid, const char *path)
{
	_cleanup_close_ int fd = process_root_open(pid, path, 0, PROCESS_ROOT_LINKS);

	if (fd < 0 || !is_trusted(fd, pid))
		return -1;
	return take_fd(fd);
}

int process_open_perf_map(int32_t pid)
{
	int32_t inner = inner_pid(pid);
	char path[64];

	if (!inner)
		return -1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", inner);
	return open_trusted(pid, path);
}

/*
 * Returns whether the file existed at that time. If the creation time is unknown, uses the time of
 * its last change.
 */
static bool is_made_before(int fd, uint64_t until_ns)
{
	struct statx about;
	const struct statx_timestamp *made = &about.stx_btime;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_MTIME | STATX_UID, &about) < 0 ||
	    (about.stx_uid != 0 && about.stx_uid != geteuid()))
		return false;
	if (!(about.stx_mask & STATX_BTIME))
		made = &about.stx_mtime;
	return !until_ns || made->tv_sec * NSEC_PER_SEC + made->tv_nsec <= until_ns;
}

int process_open_leftover_map(int32_t pid, uint64_t until_ns)
{
	_cleanup_close_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	fd = process_root_open(0, path, 0, 0);
	if (fd < 0 || !is_made_before(fd, until_ns))
		return -1;
	return take_fd(fd);
}

/*
 * Finds the jitdump among the mappings: a program that writes a jitdump maps a page of it, so that
 * profilers find it.
 */
int process_open_jitdump(int32_t pid)
{
	_cleanup_free_ char *maps = NULL;
	char path[32], name[64], *at, *line;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	snprintf(name, sizeof(name), "/jit-%d.dump\n", inner_pid(pid));
	if (file_read(path, MAPS_LIMIT, &maps, NULL) < 0)
		return -1;
	at = strstr(maps, name);
	if (!at)
		return -1;
	at[strlen(name) - 1] = 0;
	for (line = at; line > maps && line[-1] != '\n';)
		line--;
	/* the columns before the path do not contain a slash */
	return open_trusted(pid, strchr(line, '/'));
}

bool process_is_64bit(int32_t pid)
{
	_cleanup_free_ char *auxv = NULL;
	struct reader reader;
	char path[32];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	if (file_read(path, AUXV_LIMIT, &auxv, &size) < 0 || size == 0)
		return true;
	/* with 32-bit words the keys are at other places */
	reader_init(&reader, auxv, size);
	while (reader_left(&reader)) {
		uint64_t key = htole64(reader_u64(&reader));

		reader_u64(&reader);
		if (key == AT_SYSINFO_EHDR)
			return true;
	}
	return false;
}
