// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads how often and for how long a CPU quota throttled a cgroup. Reads only cgroups with a quota,
 * because the kernel adds up over all CPUs for each read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "gauges/cgroups.h"

#define LIMIT (4 << 20)
/*
 * Beyond this number, forgets all names, because the names of cgroups that come and go would
 * accumulate.
 */
#define NAMES_MAX 4096

struct throttled {
	int64_t periods;
	int64_t ms;
};

struct throttling {
	const char *root;
	struct source_file mounts;
	struct strings names;
	/* Two IDs for each name. */
	struct source_ids ids;
	bool v1;
	/* Set during a read only. */
	const struct gauges_sink *sink;
};

static void *throttling_make(const char *root)
{
	struct throttling *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->root = root;
	source_file_init(&state->mounts, root, "/proc/self/mountinfo");
	return state;
}

static void throttling_forget(struct throttling *state)
{
	strings_done(&state->names);
	source_ids_done(&state->ids);
}

static void throttling_done(void *data)
{
	struct throttling *state = data;

	throttling_forget(state);
	source_file_done(&state->mounts);
	free(state);
}

/* Reads a small file of a cgroup and appends a NUL. */
static bool read_small(const struct cgroups_seen *seen, const char *name, char *text, size_t size)
{
	char path[NAME_MAX + 32];
	_cleanup_close_ int fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "%s/%s", seen->folder, name);
	fd = openat(seen->dir_fd, path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	text[MAX(got, 0)] = 0;
	return got > 0;
}

/* "max 100000" or "-1" means no quota. */
static bool has_quota(const struct throttling *state, const struct cgroups_seen *seen)
{
	char text[64];

	if (state->v1)
		return read_small(seen, "cpu.cfs_quota_us", text, sizeof(text)) && text[0] != '-';
	return read_small(seen, "cpu.max", text, sizeof(text)) &&
	       strncmp(text, "max", strlen("max")) != 0;
}

static bool read_throttled(const struct throttling *state, const struct cgroups_seen *seen,
			   struct throttled *ret_value)
{
	struct words text, line, word, value;
	char stat[4096];
	int64_t number;
	int found = 0;

	if (!read_small(seen, "cpu.stat", stat, sizeof(stat)))
		return false;
	text = (struct words){ stat, stat + strlen(stat) };
	while (words_line(&text, &line)) {
		if (!words_next(&line, &word) || !words_next(&line, &value) ||
		    !words_number(&value, &number))
			continue;
		if (words_equal(&word, "nr_throttled"))
			ret_value->periods = number;
		else if (words_equal(&word, state->v1 ? "throttled_time" : "throttled_usec"))
			ret_value->ms =
				number / (int64_t)(state->v1 ? NSEC_PER_MSEC
							     : NSEC_PER_MSEC / NSEC_PER_USEC);
		else
			continue;
		found++;
	}
	return found == 2;
}

static int throttling_put(struct throttling *state, const char *name, const struct throttled *now)
{
	uint32_t slot;
	int r = strings_add(&state->names, name, strlen(name), &slot);

	if (r < 0)
		return r;
	r = source_put(&state->ids, 2 * slot, state->sink, now->periods, "cgroup%s/throttles",
		       name);
	return r < 0 ? r
		     : source_put(&state->ids, 2 * slot + 1, state->sink, now->ms,
				  "cgroup%s/throttled_ms", name);
}

static int throttling_see(void *context, const struct cgroups_seen *seen)
{
	struct throttling *state = context;
	struct throttled now;

	if (!has_quota(state, seen) || !read_throttled(state, seen, &now))
		return 0;
	return throttling_put(state, seen->path, &now);
}

static int throttling_read(void *data, const struct gauges_sink *sink)
{
	struct throttling *state = data;
	struct cgroups cgroups;
	uint64_t count;
	int r = source_file_read(&state->mounts, LIMIT);

	if (r < 0)
		return r;
	r = cgroups_find(
		state->root, "cpu",
		(struct words){ state->mounts.text, state->mounts.text + state->mounts.size },
		&cgroups);
	if (r < 0)
		return r;
	if (strings_count(&state->names) > NAMES_MAX)
		throttling_forget(state);
	state->v1 = cgroups.v1;
	state->sink = sink;
	return cgroups_walk(cgroups.path, throttling_see, state, &count);
}

const struct source_kind source_throttling = { "throttling",	60,
					       throttling_make, throttling_read,
					       throttling_done, NULL };
