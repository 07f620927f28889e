// SPDX-License-Identifier: GPL-2.0-only
#include "naming/process.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "naming/proc-maps.h"
#include "naming/process-root.h"

#define STATUS_LIMIT (64u << 10)
#define MAPS_LIMIT (16u << 20)
/* The number of the field of /proc/PID/stat with the begin of the process. */
#define STAT_BEGIN 22
#define AUXV_LIMIT (16u << 10)

struct identity {
	/* The pid in its innermost namespace. */
	int32_t inner;
	/* The user whose rights the process has. */
	uid_t uid;
};

/* Returns the text behind "\nNAME:" in a status file, or NULL. */
static char *status_value(char *status, const char *name)
{
	char *line = strstr(status, name);

	return line ? line + strlen(name) : NULL;
}

/*
 * Reads /proc/PID/status. The owner of the folder /proc/PID may be another user, because root owns
 * the folder if the process is not dumpable. Returns false if the process is gone.
 */
static bool read_identity(int32_t pid, struct identity *ret)
{
	_cleanup_free_ char *status = NULL;
	struct identity identity = { .inner = pid };
	char path[32], *line, *end;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(path, STATUS_LIMIT, &status, NULL) < 0)
		return false;
	line = status_value(status, "\nUid:");
	if (!line || sscanf(line, "%*u %u", &identity.uid) != 1)
		return false;
	line = status_value(status, "\nNSpid:");
	if (line) {
		line[strcspn(line, "\n")] = 0;
		for (long next = strtol(line, &end, 10); end != line;
		     next = strtol(line, &end, 10)) {
			identity.inner = next;
			line = end;
		}
	}
	*ret = identity;
	return true;
}

static bool is_own_file(int fd, const struct identity *identity)
{
	struct stat about;

	return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1 &&
	       about.st_uid == identity->uid;
}

static int open_own(int32_t pid, const struct identity *identity, const char *path)
{
	_cleanup_close_ int fd = process_root_open(pid, path, 0, 0);

	if (fd < 0 || !is_own_file(fd, identity))
		return -1;
	return take_fd(fd);
}

int process_open_perf_map(int32_t pid)
{
	struct identity identity;
	char path[64];

	if (!read_identity(pid, &identity))
		return -1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", identity.inner);
	return open_own(pid, &identity, path);
}

/*
 * Returns whether root or this user owns the file, and the file existed at a time. If the creation
 * time is unknown, uses the time of the last change.
 */
static bool is_made_before(int fd, uint64_t until_ns)
{
	struct statx about;
	const struct statx_timestamp *made = &about.stx_btime;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_MTIME | STATX_UID | STATX_NLINK,
		  &about) < 0 ||
	    about.stx_nlink != 1 || (about.stx_uid != 0 && about.stx_uid != geteuid()))
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
	struct identity identity;
	char path[32], name[64], *rest;
	struct proc_map map;

	if (!read_identity(pid, &identity))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	snprintf(name, sizeof(name), "/jit-%d.dump", identity.inner);
	if (file_read(path, MAPS_LIMIT, &maps, NULL) < 0)
		return -1;
	rest = maps;
	while (proc_maps_next(&rest, &map)) {
		size_t size = strlen(map.path);

		if (map.path[0] == '/' && size >= strlen(name) &&
		    strcmp(map.path + size - strlen(name), name) == 0)
			return open_own(pid, &identity, map.path);
	}
	return -1;
}

/*
 * Returns the time from the boot to the begin of a process, in nanoseconds; 0 if the process is
 * gone.
 */
static uint64_t begin_since_boot(int32_t pid)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long ticks;
	char path[32], *at;
	size_t field = 2;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, STATUS_LIMIT, &text, NULL) < 0)
		return 0;
	/* the name of the process may contain blanks and brackets */
	for (at = strrchr(text, ')'); at && field < STAT_BEGIN; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, " %llu", &ticks) != 1)
		return 0;
	return ticks * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
}

bool process_began_after(int32_t pid, uint64_t time_ns)
{
	uint64_t begin = begin_since_boot(pid);
	uint64_t boot = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME);

	return time_ns && begin && boot + begin > time_ns;
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
