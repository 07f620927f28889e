// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/cgroup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "recorder/procs/proc-reader.h"

#define TEXT_LIMIT (256u << 10)

#define EXITING 4

/* Returns whether a list such as "cpu,cpuacct" contains the controller. */
static bool cgroup_has_controller(const char *list, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
		if ((at == list || at[-1] == ',') && (!at[size] || at[size] == ','))
			return true;
	return false;
}

/* Ranks a hierarchy by its controllers; the lowest rank is the best. */
static unsigned int cgroup_rank(const char *controllers)
{
	static const char *const order[] = { "cpu", "name=systemd", "memory" };

	if (!*controllers)
		return 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++)
		if (cgroup_has_controller(controllers, order[i]))
			return i + 1;
	return ARRAY_SIZE(order) + 1;
}

const char *cgroup_choose(char *text)
{
	const char *best = "";
	unsigned int best_rank = UINT32_MAX;
	char *line;

	/* A line is "4:memory:/system.slice/x.service". */
	while ((line = strsep(&text, "\n"))) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path || path[1] != '/')
			continue;
		*path++ = 0;
		if (!path[1]) {
			if (!*best)
				best = path;
		} else if (cgroup_rank(controllers + 1) < best_rank) {
			best_rank = cgroup_rank(controllers + 1);
			best = path;
		}
	}
	return best;
}

static bool cgroup_begins(const char *path, const char *text)
{
	return strncmp(path, text, strlen(text)) == 0;
}

/* Without systemd, runtimes name containers "/docker/ID" or "/kubepods/burstable/podUID/ID". */
static size_t cgroup_owner_depth(const char *path)
{
	if (cgroup_begins(path, "/kubepods/"))
		return 3;
	return cgroup_begins(path, "/lxc.payload") ? 1 : 2;
}

/*
 * With systemd, "/user.slice/user-UID.slice" belongs to a user. Elsewhere the first cgroup below
 * the slices is a unit or a container.
 */
size_t cgroup_owner_size(const char *path)
{
	static const char slice[] = ".slice";
	size_t size = 0, depth = 0, most = SIZE_MAX;

	if (cgroup_begins(path, "/user.slice/"))
		most = 2;
	while (path[size] == '/' && depth < most) {
		size_t begin = size++;

		size += strcspn(path + size, "/");
		depth++;
		if (size - begin > strlen(slice) &&
		    cgroup_begins(path + size - strlen(slice), slice))
			continue;
		if (most == SIZE_MAX)
			most = depth == 1 ? cgroup_owner_depth(path) : depth;
	}
	return size;
}

/*
 * Returns whether a process is exiting, by the flag PF_EXITING in the ninth field of
 * /proc/PID/stat. The kernel moves such a process to the root of every hierarchy of version 1.
 */
static bool cgroup_is_exiting(struct proc_reader *reader, int32_t pid)
{
	_cleanup_free_ char *text = NULL;
	unsigned int flags = 0;
	const char *rest;
	char file[64];

	snprintf(file, sizeof(file), "/proc/%d/stat", pid);
	if (proc_reader_read(reader, file, TEXT_LIMIT, &text) < 0)
		return true;
	rest = strrchr(text, ')');
	return rest && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & EXITING;
}

int cgroup_read(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX])
{
	_cleanup_free_ char *text = NULL;
	char file[64];
	int r;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	r = proc_reader_read(reader, file, TEXT_LIMIT, &text);
	if (r < 0)
		return r;
	snprintf(path, CGROUP_PATH_MAX, "%s", cgroup_choose(text));
	return strcmp(path, "/") == 0 && cgroup_is_exiting(reader, pid) ? -ESRCH : 0;
}
