// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the kernel's memory cgroups, and how many of them are in use. The other cgroups were
 * removed, but exist until the kernel frees the memory that is charged to them. Reads only counters
 * and folder names. To read statistics of cgroups, the kernel would have to walk all of them.
 */
#include <string.h>

#include "gauges/cgroups.h"

#define LIMIT (4 << 20)

enum slot { TRACKED, IN_USE, DYING };

struct memory_cgroups {
	const char *root;
	struct source_file mounts;
	/* /proc/cgroups. */
	struct source_file rows;
	struct source_file stat;
	struct source_ids ids;
};

static void *memory_cgroups_make(const char *root)
{
	struct memory_cgroups *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->root = root;
	source_file_init(&state->mounts, root, "/proc/self/mountinfo");
	source_file_init(&state->rows, root, "/proc/cgroups");
	source_file_init(&state->stat, "", "");
	return state;
}

static void memory_cgroups_done(void *data)
{
	struct memory_cgroups *state = data;

	source_file_done(&state->mounts);
	source_file_done(&state->rows);
	source_file_done(&state->stat);
	source_ids_done(&state->ids);
	free(state);
}

static int memory_cgroups_put(struct memory_cgroups *state, const struct gauges_sink *sink,
			      int64_t in_use, int64_t dying)
{
	static const char *const names[] = { "tracked", "in_use", "dying" };
	const int64_t values[] = { in_use + dying, in_use, dying };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(values); i++)
		r = source_put(&state->ids, i, sink, values[i], "memory_cgroups/%s", names[i]);
	return r;
}

/*
 * Finds the number in a column of the row with that name. Rows look like "memory 4 70033 1" in
 * /proc/cgroups, or "nr_descendants 12" in cgroup.stat.
 */
static bool find_value(const struct source_file *file, const char *name, int column,
		       int64_t *ret_value)
{
	struct words text = { file->text, file->text + file->size }, line, word;

	while (words_line(&text, &line)) {
		if (!words_next(&line, &word) || !words_equal(&word, name))
			continue;
		for (int i = 1; i <= column; i++)
			if (!words_next(&line, &word))
				return false;
		return words_number(&word, ret_value);
	}
	return false;
}

static int read_v1(struct memory_cgroups *state, const struct gauges_sink *sink,
		   const struct cgroups *cgroups)
{
	int64_t tracked;
	uint64_t in_use;
	int r;

	/* the counter covers the whole hierarchy, but we see only a part of the folders */
	if (cgroups->part)
		return -ENOENT;
	r = cgroups_walk(cgroups->path, NULL, NULL, &in_use);
	if (r < 0)
		return r;
	r = source_file_read(&state->rows, LIMIT);
	if (r < 0)
		return r;
	if (!find_value(&state->rows, "memory", 2, &tracked))
		return -EBADMSG;
	/* a cgroup may have been created between the walk and the count */
	return memory_cgroups_put(state, sink, MIN((int64_t)in_use, tracked),
				  MAX(tracked - (int64_t)in_use, 0));
}

static int read_v2(struct memory_cgroups *state, const struct gauges_sink *sink,
		   const struct cgroups *cgroups)
{
	int64_t in_use, dying;
	int r;

	/* the mount point may have changed since the last read */
	source_file_done(&state->stat);
	source_file_init(&state->stat, cgroups->path, "/cgroup.stat");
	r = source_file_read(&state->stat, LIMIT);
	if (r < 0)
		return r;
	/*
	 * kernels that do not count memory cgroups separately count all cgroups except the top one
	 */
	if (!find_value(&state->stat, "nr_dying_subsys_memory", 1, &dying) ||
	    !find_value(&state->stat, "nr_subsys_memory", 1, &in_use)) {
		if (!find_value(&state->stat, "nr_dying_descendants", 1, &dying) ||
		    !find_value(&state->stat, "nr_descendants", 1, &in_use))
			return -EBADMSG;
		in_use++;
	}
	return memory_cgroups_put(state, sink, in_use, dying);
}

static int memory_cgroups_read(void *data, const struct gauges_sink *sink)
{
	struct memory_cgroups *state = data;
	struct cgroups cgroups;
	int r = source_file_read(&state->mounts, LIMIT);

	if (r < 0)
		return r;
	r = cgroups_find(
		state->root, "memory",
		(struct words){ state->mounts.text, state->mounts.text + state->mounts.size },
		&cgroups);
	if (r < 0)
		return r;
	return cgroups.v1 ? read_v1(state, sink, &cgroups) : read_v2(state, sink, &cgroups);
}

const struct source_kind source_memory_cgroups = { "memory cgroups",	60,
						   memory_cgroups_make, memory_cgroups_read,
						   memory_cgroups_done, NULL };
