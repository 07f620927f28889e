// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/exec-counts.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "gauges/cgroup-names.h"
#include "tape/tape-events.h"

#define GIVE_NS (60 * NSEC_PER_SEC)
/* Hierarchies of version 1, and the one of version 2. */
#define ROOTS 16

struct counter {
	enum cgroup_kind kind;
	uint32_t made[ROOTS];
	/* + 1, in the tape of `tape_sequence` */
	uint32_t row;
	/* at all */
	bool told;
};

struct exec_counts {
	struct strings names;
	/* by the number of the name */
	array_of(struct counter) counters;
	uint64_t roots[ROOTS];
	size_t root_count;
	/* of the one at hand */
	struct buffer name;
	/* + 1 */
	uint64_t tape_sequence;
	uint64_t given_ns;
};

int exec_counts_new(struct exec_counts **ret_starts)
{
	*ret_starts = calloc(1, sizeof(**ret_starts));
	return *ret_starts ? 0 : -ENOMEM;
}

static void exec_counts_forget(struct exec_counts *starts)
{
	strings_done(&starts->names);
	array_done(&starts->counters);
}

struct exec_counts *exec_counts_free(struct exec_counts *starts)
{
	if (!starts)
		return NULL;
	exec_counts_forget(starts);
	buffer_done(&starts->name);
	free(starts);
	return NULL;
}

static size_t find_root(struct exec_counts *starts, uint64_t root)
{
	size_t at = 0;

	while (at < starts->root_count && starts->roots[at] != root)
		at++;
	if (at == starts->root_count && at < ROOTS)
		starts->roots[starts->root_count++] = root;
	return at;
}

static int exec_counts_find_counter(struct exec_counts *starts, const char *name,
				    enum cgroup_kind kind, struct counter **ret_counter)
{
	uint32_t id;
	int r;

	if (strings_count(&starts->names) > EXEC_COUNTS_MAX &&
	    !strings_find(&starts->names, name, strlen(name)))
		exec_counts_forget(starts);
	r = strings_add(&starts->names, name, strlen(name), &id);
	while (r == 0 && starts->counters.count <= id)
		r = array_push(&starts->counters, (struct counter){ .kind = kind });
	if (r == 0)
		*ret_counter = &starts->counters.items[id];
	return r;
}

int exec_counts_made(struct exec_counts *starts, uint64_t root, const char *path)
{
	enum cgroup_kind kind = cgroup_name(path, &starts->name);
	size_t at = find_root(starts, root);
	struct counter *counter = NULL;
	int r;

	if (buffer_failed(&starts->name))
		return -ENOMEM;
	if (kind == CGROUP_OTHER || at == ROOTS)
		return 0;
	r = exec_counts_find_counter(starts, (const char *)starts->name.data, kind, &counter);
	if (r < 0)
		return r;
	counter->kind = kind;
	counter->made[at]++;
	return 0;
}

static uint32_t exec_counts_most(const struct counter *counter)
{
	uint32_t made = 0;

	for (size_t i = 0; i < ROOTS; i++)
		made = MAX(made, counter->made[i]);
	return made;
}

static int exec_counts_give_here(const struct exec_counts *starts, uint32_t id, struct tape *tape,
				 uint64_t before_ns, uint64_t now_ns)
{
	struct counter *counter = &starts->counters.items[id];
	_cleanup_free_ char *name = NULL;
	int r = 0;

	if (!counter->row) {
		if (asprintf(&name, "%s/%s" TAPE_GAUGE_MADE,
			     counter->kind == CGROUP_UNIT ? "unit" : "containers",
			     strings_at(&starts->names, id)) < 0) {
			name = NULL;
			return -ENOMEM;
		}
		r = tape_add_gauge(tape, name, &counter->row);
		counter->row = r == 0 ? counter->row + 1 : 0;
	}
	/* none were made before it was told of */
	if (r == 0 && !counter->told && before_ns < now_ns)
		r = tape_add_point(tape, counter->row - 1, before_ns, 0);
	counter->told = true;
	return r == 0 ? tape_add_point(tape, counter->row - 1, now_ns, exec_counts_most(counter))
		      : r;
}

int exec_counts_give(struct exec_counts *starts, struct tape *tape, uint64_t now_ns, bool last)
{
	uint64_t before_ns = MAX(starts->given_ns, tape->begin_ns);
	int r = 0;

	if (starts->tape_sequence != tape->sequence + 1)
		for (size_t i = 0; i < starts->counters.count; i++)
			starts->counters.items[i].row = 0;
	starts->tape_sequence = tape->sequence + 1;
	if (!last && now_ns < starts->given_ns + GIVE_NS)
		return 0;
	starts->given_ns = now_ns;
	for (uint32_t id = 1; r == 0 && id < starts->counters.count; id++)
		r = exec_counts_give_here(starts, id, tape, before_ns, now_ns);
	return r;
}
