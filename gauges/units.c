// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the starts of systemd units and of containers, without a request to a service. For each
 * running unit, systemd makes a link to the unit's invocation ID. Each start creates the unit's
 * cgroup anew. A container that replaces another has another path.
 *
 * A scan does not see a unit that starts and ends between two scans, so a count is a lower bound.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/intern.h"
#include "gauges/cgroup-names.h"
#include "gauges/cgroups.h"

#define LIMIT (4 << 20)
/*
 * Beyond this number, forgets all names and counts from 0 again, because the names of pods would
 * accumulate.
 */
#define COUNTERS_MAX 4096
#define LINKS_MAX 65536

/* The place where a scan finds a unit. A unit may be in several places. */
enum origin { INVOCATIONS, HIERARCHY, SECOND_HIERARCHY, ORIGINS };

struct counter {
	enum cgroup_kind kind;
	int64_t starts[ORIGINS];
	/* The next two members belong to the current scan, or to the last one. */
	int64_t started;
	int64_t running;
};

/*
 * The paths that a scan found. Each path has a mark, which differs for a successor at the same
 * path.
 */
struct scan {
	struct strings paths;
	/* Indexed by the number of the path. */
	array_of(uint64_t) marks;
	/* The scan ended without an error. */
	bool valid;
};

struct units {
	const char *root;
	struct source_file mounts;
	struct scan scans[ORIGINS];
	struct strings names;
	/* Indexed by the number of the name. */
	array_of(struct counter) counters;
	/* Two IDs for each name. */
	struct source_ids ids;
	/* The name of the current cgroup. */
	struct buffer name;
	/* The current scan. */
	struct scan scan;
	enum origin origin;
};

static void *units_make(const char *root)
{
	struct units *units = calloc(1, sizeof(*units));

	if (!units)
		return NULL;
	units->root = root;
	source_file_init(&units->mounts, root, "/proc/self/mountinfo");
	return units;
}

static void units_scan_done(struct scan *scan)
{
	strings_done(&scan->paths);
	array_done(&scan->marks);
	scan->valid = false;
}

static void units_forget(struct units *units)
{
	for (int i = 0; i < ORIGINS; i++)
		units_scan_done(&units->scans[i]);
	strings_done(&units->names);
	array_done(&units->counters);
	source_ids_done(&units->ids);
}

static void units_done(void *state)
{
	struct units *units = state;

	units_forget(units);
	units_scan_done(&units->scan);
	source_file_done(&units->mounts);
	buffer_done(&units->name);
	free(units);
}

static int units_find_counter(struct units *units, const char *name, enum cgroup_kind kind,
			      struct counter **ret_counter)
{
	uint32_t id;
	int r = strings_add(&units->names, name, strlen(name), &id);

	while (r == 0 && units->counters.count <= id)
		r = array_push(&units->counters, (struct counter){ .kind = CGROUP_OTHER });
	if (r < 0)
		return r;
	*ret_counter = &units->counters.items[id];
	(*ret_counter)->kind = kind;
	return 0;
}

/*
 * Returns whether a unit has started since the last scan: the last scan found nothing at this path,
 * or another mark. After the first scan nothing counts as new, because everything in it had started
 * before.
 */
static bool is_new(const struct units *units, const char *path, uint64_t mark)
{
	const struct scan *before = &units->scans[units->origin];
	uint32_t id = strings_find(&before->paths, path, strlen(path));

	return before->valid && (!id || before->marks.items[id] != mark);
}

static int units_see(struct units *units, const char *path, const char *name, enum cgroup_kind kind,
		     uint64_t mark)
{
	struct counter *counter = NULL;
	uint32_t id;
	int r = strings_add(&units->scan.paths, path, strlen(path), &id);

	while (r == 0 && units->scan.marks.count <= id)
		r = array_push(&units->scan.marks, 0);
	if (r < 0)
		return r;
	r = units_find_counter(units, name, kind, &counter);
	if (r < 0)
		return r;
	units->scan.marks.items[id] = mark;
	counter->started += is_new(units, path, mark);
	counter->running++;
	return 0;
}

/*
 * Returns the inode number as the mark. The kernel uses inode numbers of cgroups in turn, so a
 * number does not soon recur. Before 4.14 the next cgroup may have the same number; such a start is
 * not counted.
 */
static int units_see_cgroup(void *context, const struct cgroups_seen *seen)
{
	struct units *units = context;
	enum cgroup_kind kind = cgroup_name(seen->path, &units->name);

	if (buffer_failed(&units->name))
		return -ENOMEM;
	return kind == CGROUP_OTHER ? 0
				    : units_see(units, seen->path, (const char *)units->name.data,
						kind, seen->inode);
}

/* Adds a unit from its link: "invocation:ecs.service" points to 32 digits. */
static int units_see_link(struct units *units, int dir_fd, const char *link)
{
	static const char prefix[] = "invocation:";
	const char *name = link + strlen(prefix);
	uint64_t mark = 14695981039346656037ull; /* FNV-1a */
	char target[64];
	ssize_t size;

	if (strncmp(link, prefix, strlen(prefix)) != 0)
		return 0;
	/* ignore sessions, mounts and devices, which come and go without a start of a service */
	if (strlen(name) < strlen(".service") ||
	    strcmp(name + strlen(name) - strlen(".service"), ".service") != 0)
		return 0;
	size = readlinkat(dir_fd, link, target, sizeof(target));
	for (ssize_t i = 0; i < size; i++)
		mark = (mark ^ (uint8_t)target[i]) * 1099511628211ull;
	return size <= 0 ? 0 : units_see(units, name, name, CGROUP_UNIT, mark);
}

static int scan_links(struct units *units)
{
	char path[PATH_MAX];
	const struct dirent *entry;
	int r = 0, count = 0;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/run/systemd/units", units->root) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (r == 0 && (entry = readdir(dir)))
		r = ++count > LINKS_MAX ? -EFBIG : units_see_link(units, dirfd(dir), entry->d_name);
	closedir(dir);
	return r;
}

static void begin_scan(struct units *units, enum origin origin)
{
	units->origin = origin;
	for (size_t i = 0; i < units->counters.count; i++)
		units->counters.items[i].started = units->counters.items[i].running = 0;
}

/* Ends a scan. An aborted scan does not count, because the next scan finds the same starts. */
static int end_scan(struct units *units, int r)
{
	for (size_t i = 0; r == 0 && i < units->counters.count; i++)
		units->counters.items[i].starts[units->origin] += units->counters.items[i].started;
	if (r == 0) {
		units_scan_done(&units->scans[units->origin]);
		units->scans[units->origin] = units->scan;
		units->scans[units->origin].valid = true;
		units->scan = (struct scan){ .valid = false };
	}
	units_scan_done(&units->scan);
	return r;
}

static int scan_hierarchy(struct units *units, enum origin origin, const char *controller)
{
	const struct words mounts = { units->mounts.text, units->mounts.text + units->mounts.size };
	struct cgroups cgroups;
	uint64_t count;
	int r = cgroups_find(units->root, controller, mounts, &cgroups);

	if (r < 0)
		return r;
	begin_scan(units, origin);
	return end_scan(units, cgroups_walk(cgroups.path, units_see_cgroup, units, &count));
}

/*
 * Scans the hierarchies. The memory hierarchy has the containers, and the units with memory
 * accounting. With version 1, systemd's own hierarchy has the other units. The memory hierarchy
 * comes last, because its scan counts the running containers.
 */
static int scan_cgroups(struct units *units)
{
	int r = source_file_read(&units->mounts, LIMIT), systemd;

	if (r < 0)
		return r;
	systemd = scan_hierarchy(units, SECOND_HIERARCHY, "name=systemd");
	if (systemd == -ENOMEM)
		return systemd;
	r = scan_hierarchy(units, HIERARCHY, "memory");
	if (r == -ENOENT && systemd < 0)
		r = scan_hierarchy(units, HIERARCHY, NULL);
	return r == -ENOENT && systemd == 0 ? 0 : r;
}

/* Returns the largest count of the places, because scans may see a start in up to three places. */
static int64_t starts_of(const struct counter *counter)
{
	return MAX(counter->starts[INVOCATIONS],
		   MAX(counter->starts[HIERARCHY], counter->starts[SECOND_HIERARCHY]));
}

static int put_counter(struct units *units, const struct gauges_sink *sink, uint32_t id)
{
	const struct counter *counter = &units->counters.items[id];
	const char *name = strings_at(&units->names, id);
	int r;

	if (counter->kind == CGROUP_UNIT)
		return source_put(&units->ids, 2 * id, sink, starts_of(counter), "unit/%s/starts",
				  name);
	if (counter->kind != CGROUP_CONTAINER)
		return 0;
	r = source_put(&units->ids, 2 * id, sink, starts_of(counter), "containers/%s/starts", name);
	return r < 0 ? r
		     : source_put(&units->ids, 2 * id + 1, sink, counter->running,
				  "containers/%s/running", name);
}

static int units_read(void *state, const struct gauges_sink *sink)
{
	struct units *units = state;
	int links, r;

	if (units->counters.count > COUNTERS_MAX)
		units_forget(units);
	begin_scan(units, INVOCATIONS);
	links = end_scan(units, scan_links(units));
	if (links == -ENOMEM)
		return links;
	r = scan_cgroups(units);
	if (r == -ENOENT && links == 0)
		r = 0;
	for (uint32_t id = 1; r == 0 && id < units->counters.count; id++)
		r = put_counter(units, sink, id);
	return r;
}

const struct source_kind source_units = { "units", 60, units_make, units_read, units_done, NULL };
