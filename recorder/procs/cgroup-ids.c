// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/cgroup-ids.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "gauges/cgroups.h"
#include "recorder/procs/cgroup.h"
#include "recorder/procs/proc-reader.h"

#define TEXT_LIMIT (16u << 20)

/*
 * The kernel's number of the first cgroup namespace (PROC_CGROUP_INIT_INO), in which paths begin at
 * the root of the hierarchy.
 */
#define FIRST_NAMESPACE "cgroup:[4026531835]"

static void cgroup_ids_generation_done(struct cgroup_generation *generation)
{
	array_done(&generation->list);
	table_done(&generation->table);
	strings_done(&generation->paths);
	*generation = (struct cgroup_generation){ 0 };
}

void cgroup_ids_done(struct cgroup_ids *ids)
{
	cgroup_ids_generation_done(&ids->recent);
	cgroup_ids_generation_done(&ids->older);
}

static bool cgroup_ids_id_equal(const void *context, uint32_t at, const void *id)
{
	return ((const struct cgroup_generation *)context)->list.items[at].id ==
	       *(const uint64_t *)id;
}

static const char *cgroup_ids_find_in(const struct cgroup_generation *generation, uint64_t id)
{
	uint32_t at = table_find(&generation->table, hash_numbers(id, 0), cgroup_ids_id_equal,
				 generation, &id);

	if (at == TABLE_NONE)
		return NULL;
	return strings_at(&generation->paths, generation->list.items[at].path);
}

int cgroup_ids_add(struct cgroup_ids *ids, uint64_t id, const char *path)
{
	struct cgroup_generation *recent = &ids->recent;
	struct cgroup_id item = { .id = id };
	int r;

	if (cgroup_ids_find_in(recent, id))
		return 0;
	if (recent->list.count >= CGROUP_IDS_MAX) {
		cgroup_ids_generation_done(&ids->older);
		ids->older = ids->recent;
		*recent = (struct cgroup_generation){ 0 };
	}
	r = strings_add(&recent->paths, path, strnlen(path, CGROUP_PATH_MAX - 1), &item.path);
	if (r < 0 || array_push(&recent->list, item) < 0 ||
	    table_add(&recent->table, hash_numbers(id, 0), recent->list.count - 1) < 0)
		return -ENOMEM;
	return 0;
}

const char *cgroup_ids_find(struct cgroup_ids *ids, uint64_t id)
{
	const char *path = cgroup_ids_find_in(&ids->recent, id);
	char copy[CGROUP_PATH_MAX];

	if (path || !(path = cgroup_ids_find_in(&ids->older, id)))
		return path;
	/* cgroup_ids_add() may free the older generation, which holds the path. */
	snprintf(copy, sizeof(copy), "%s", path);
	return cgroup_ids_add(ids, id, copy) < 0 ? NULL : cgroup_ids_find_in(&ids->recent, id);
}

static int cgroup_ids_write_line(void *context, const struct cgroups_seen *seen)
{
	struct buffer *text = context;

	if (strlen(seen->path) < CGROUP_PATH_MAX)
		buffer_printf(text, "%" PRIu64 " %s\n", seen->inode,
			      *seen->path ? seen->path : "/");
	return buffer_failed(text) ? -ENOMEM : 0;
}

/* Returns whether perf events use the unified hierarchy, and our paths begin at its root. */
static bool cgroup_ids_is_unified(void)
{
	_cleanup_free_ char *own = NULL;
	char namespace[64] = "";

	return readlink("/proc/self/ns/cgroup", namespace, sizeof(namespace) - 1) > 0 &&
	       strcmp(namespace, FIRST_NAMESPACE) == 0 &&
	       file_read("/proc/self/cgroup", TEXT_LIMIT, &own, NULL) == 0 &&
	       !strstr(own, ":perf_event:") && !strstr(own, ",perf_event:") &&
	       !strstr(own, ":perf_event,") && !strstr(own, ",perf_event,");
}

/* Returns whether no hierarchy of version 1 is mounted. */
static bool cgroup_ids_is_only_hierarchy(void)
{
	_cleanup_free_ char *own = NULL;

	return file_read("/proc/self/cgroup", TEXT_LIMIT, &own, NULL) == 0 &&
	       strncmp(own, "0::", 3) == 0 && strchr(own, '\n') == strrchr(own, '\n');
}

/*
 * Runs in the proc reader's thread. The first line of the result is "alone", "unified" or "own";
 * each other line has the id and the path of a cgroup. If the walk meets a limit, the list has only
 * some cgroups. If only a part of the hierarchy is visible, the list is empty.
 */
static int cgroup_ids_list_all(const char *mounts, size_t limit, char **ret_text)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_(buffer_done) struct buffer list = { 0 };
	struct cgroups cgroups;
	bool unified = cgroup_ids_is_unified();
	const char *kind;
	uint64_t count;
	size_t size;
	int r = file_read(mounts, limit, &text, &size);

	if (r < 0)
		return r;
	r = cgroups_find("", unified ? NULL : "perf_event", (struct words){ text, text + size },
			 &cgroups);
	if (r < 0)
		return r;
	kind = !unified || cgroups.part		? "own"
	       : cgroup_ids_is_only_hierarchy() ? "alone"
						: "unified";
	buffer_printf(&list, "%s\n", kind);
	if (!cgroups.part)
		(void)cgroups_walk(cgroups.path, cgroup_ids_write_line, &list, &count);
	buffer_u8(&list, 0);
	if (buffer_failed(&list))
		return -ENOMEM;
	*ret_text = (char *)take_ptr(list.data);
	return 0;
}

int cgroup_ids_scan(struct cgroup_ids *ids, struct proc_reader *reader)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;
	int r = proc_reader_run(reader, cgroup_ids_list_all, "/proc/self/mountinfo", TEXT_LIMIT,
				&text);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	rest = text;
	line = strsep(&rest, "\n");
	ids->only_hierarchy = strcmp(line, "alone") == 0;
	ids->unified = ids->only_hierarchy || strcmp(line, "unified") == 0;
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		char *path = strchr(line, ' ');

		if (path)
			r = cgroup_ids_add(ids, strtoull(line, NULL, 10), path + 1);
	}
	return r;
}
