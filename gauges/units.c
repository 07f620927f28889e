// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often units of systemd, and containers, were started. Nobody is asked: systemd leaves a link
 * for each unit that runs, to the number of its invocation, and every start makes the unit's cgroup
 * anew. A container that takes another's place has another path.
 *
 * What starts and ends between two looks is not seen, so that a count is what it came to at the
 * least.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/intern.h"
#include "gauges/cgroup-names.h"
#include "gauges/cgroups.h"

#define LIMIT (4 << 20)
/* Beyond, all is forgotten, and counted from 0: names of pods would add up. */
#define COUNTERS_MAX 4096
#define LINKS_MAX 65536

/* Where something is seen: the same unit may be in more than one of them. */
enum origin { INVOCATIONS, HIERARCHY, SECOND_HIERARCHY, ORIGINS };

struct counter {
	enum cgroup_kind kind;
	int64_t starts[ORIGINS];
	/* of the look that goes on, or was the last */
	int64_t started;
	int64_t running;
};

/* What was there, by its path, and what tells it from one of the same path. */
struct look {
	struct strings paths;
	/* by the number of the path */
	array_of(uint64_t) marks;
	/* there was such a look */
	bool there;
};

struct units {
	const char *root;
	struct source_file mounts;
	struct look looks[ORIGINS];
	struct strings names;
	/* by the number of the name */
	array_of(struct counter) counters;
	/* two each */
	struct source_ids ids;
	/* of the one at hand */
	struct buffer name;
	/* while looking */
	struct look look;
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

static void look_done(struct look *look)
{
	strings_done(&look->paths);
	array_done(&look->marks);
	look->there = false;
}

static void units_forget(struct units *units)
{
	for (int i = 0; i < ORIGINS; i++)
		look_done(&units->looks[i]);
	strings_done(&units->names);
	array_done(&units->counters);
	source_ids_done(&units->ids);
}

static void units_done(void *state)
{
	struct units *units = state;

	units_forget(units);
	look_done(&units->look);
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

/* Is it another one than the last look found at this path? What the first look finds was started
 * before. */
static bool is_new(const struct units *units, const char *path, uint64_t mark)
{
	const struct look *before = &units->looks[units->origin];
	uint32_t id = strings_find(&before->paths, path, strlen(path));

	return before->there && (!id || before->marks.items[id] != mark);
}

static int units_see(struct units *units, const char *path, const char *name, enum cgroup_kind kind,
		     uint64_t mark)
{
	struct counter *counter = NULL;
	uint32_t id;
	int r = strings_add(&units->look.paths, path, strlen(path), &id);

	while (r == 0 && units->look.marks.count <= id)
		r = array_push(&units->look.marks, 0);
	if (r == 0)
		r = units_find_counter(units, name, kind, &counter);
	if (r < 0)
		return r;
	units->look.marks.items[id] = mark;
	counter->started += is_new(units, path, mark);
	counter->running++;
	return 0;
}

/*
 * Inodes of cgroups are given in turn, so that none comes back soon; before 4.14 the next one may
 * have the same, and is missed.
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

/* "invocation:ecs.service" leads to 32 digits. */
static int units_see_link(struct units *units, int dir_fd, const char *link)
{
	static const char prefix[] = "invocation:";
	const char *name = link + strlen(prefix);
	uint64_t mark = 14695981039346656037ull; /* FNV-1a */
	char target[64];
	ssize_t size;

	if (strncmp(link, prefix, strlen(prefix)) != 0)
		return 0;
	/* sessions, mounts and devices come and go by themselves */
	if (strlen(name) < strlen(".service") ||
	    strcmp(name + strlen(name) - strlen(".service"), ".service") != 0)
		return 0;
	size = readlinkat(dir_fd, link, target, sizeof(target));
	for (ssize_t i = 0; i < size; i++)
		mark = (mark ^ (uint8_t)target[i]) * 1099511628211ull;
	return size <= 0 ? 0 : units_see(units, name, name, CGROUP_UNIT, mark);
}

static int see_links(struct units *units)
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

static void begin_look(struct units *units, enum origin origin)
{
	units->origin = origin;
	for (size_t i = 0; i < units->counters.count; i++)
		units->counters.items[i].started = units->counters.items[i].running = 0;
}

/* A look that was broken off is none: the next one will find the same. */
static int end_look(struct units *units, int r)
{
	for (size_t i = 0; r == 0 && i < units->counters.count; i++)
		units->counters.items[i].starts[units->origin] += units->counters.items[i].started;
	if (r == 0) {
		look_done(&units->looks[units->origin]);
		units->looks[units->origin] = units->look;
		units->looks[units->origin].there = true;
		units->look = (struct look){ .there = false };
	}
	look_done(&units->look);
	return r;
}

static int look_at_hierarchy(struct units *units, enum origin origin, const char *controller)
{
	const struct words mounts = { units->mounts.text, units->mounts.text + units->mounts.size };
	struct cgroups cgroups;
	uint64_t count;
	int r = cgroups_find(units->root, controller, mounts, &cgroups);

	if (r < 0)
		return r;
	begin_look(units, origin);
	return end_look(units, cgroups_walk(cgroups.path, units_see_cgroup, units, &count));
}

/*
 * Containers, and units that memory is accounted for, are where the memory is; with version 1 the
 * others are in systemd's own hierarchy. The walk of the one with the containers comes last: how
 * many run is counted there.
 */
static int look_at_cgroups(struct units *units)
{
	int r = source_file_read(&units->mounts, LIMIT), systemd;

	if (r < 0)
		return r;
	systemd = look_at_hierarchy(units, SECOND_HIERARCHY, "name=systemd");
	if (systemd == -ENOMEM)
		return systemd;
	r = look_at_hierarchy(units, HIERARCHY, "memory");
	if (r == -ENOENT && systemd < 0)
		r = look_at_hierarchy(units, HIERARCHY, NULL);
	return r == -ENOENT && systemd == 0 ? 0 : r;
}

/* One start is seen in one, two or three places. */
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
	begin_look(units, INVOCATIONS);
	links = end_look(units, see_links(units));
	if (links == -ENOMEM)
		return links;
	r = look_at_cgroups(units);
	if (r == -ENOENT && links == 0)
		r = 0;
	for (uint32_t id = 1; r == 0 && id < units->counters.count; id++)
		r = put_counter(units, sink, id);
	return r;
}

const struct source_kind source_units = { "units", 60, units_make, units_read, units_done };
