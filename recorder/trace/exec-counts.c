// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/trace/exec-counts.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/intern.h"
#include "gauges/cgroup-names.h"
#include "tape/tape-events.h"

#define GIVE_NS (60 * NSEC_PER_SEC)
/* The greatest number of hierarchies: those of version 1, and the one of version 2. */
#define ROOTS 16

struct counter {
	enum cgroup_kind kind;
	uint32_t made[ROOTS];
	/* the row of the gauge in the tape of `tape_sequence`, + 1 */
	uint32_t row;
	/* the gauge has a point in some tape */
	bool has_points;
};

struct exec_counts {
	struct strings names;
	/* indexed by the number of the name */
	array_of(struct counter) counters;
	uint64_t roots[ROOTS];
	size_t root_count;
	/* room for the name of the present cgroup */
	struct buffer name;
	/* the sequence number of the tape of the rows, + 1 */
	uint64_t tape_sequence;
	uint64_t given_ns;
};

int exec_counts_new(struct exec_counts **ret_counts)
{
	*ret_counts = calloc(1, sizeof(**ret_counts));
	return *ret_counts ? 0 : -ENOMEM;
}

static void exec_counts_forget(struct exec_counts *counts)
{
	strings_done(&counts->names);
	array_done(&counts->counters);
}

struct exec_counts *exec_counts_free(struct exec_counts *counts)
{
	if (!counts)
		return NULL;
	exec_counts_forget(counts);
	buffer_done(&counts->name);
	free(counts);
	return NULL;
}

static size_t find_root(struct exec_counts *counts, uint64_t root)
{
	size_t at = 0;

	while (at < counts->root_count && counts->roots[at] != root)
		at++;
	if (at == counts->root_count && at < ROOTS)
		counts->roots[counts->root_count++] = root;
	return at;
}

static int exec_counts_find_counter(struct exec_counts *counts, const char *name,
				    enum cgroup_kind kind, struct counter **ret_counter)
{
	uint32_t id;
	int r;

	if (strings_count(&counts->names) > EXEC_COUNTS_MAX &&
	    !strings_find(&counts->names, name, strlen(name)))
		exec_counts_forget(counts);
	r = strings_add(&counts->names, name, strlen(name), &id);
	while (r == 0 && counts->counters.count <= id)
		r = array_push(&counts->counters, (struct counter){ .kind = kind });
	if (r < 0)
		return r;
	*ret_counter = &counts->counters.items[id];
	return 0;
}

int exec_counts_made(struct exec_counts *counts, uint64_t root, const char *path)
{
	enum cgroup_kind kind = cgroup_name(path, &counts->name);
	size_t at = find_root(counts, root);
	struct counter *counter = NULL;
	int r;

	if (buffer_failed(&counts->name))
		return -ENOMEM;
	if (kind == CGROUP_OTHER || at == ROOTS)
		return 0;
	r = exec_counts_find_counter(counts, (const char *)counts->name.data, kind, &counter);
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

static int exec_counts_give_one(const struct exec_counts *counts, uint32_t id, struct tape *tape,
				uint64_t before_ns, uint64_t now_ns)
{
	struct counter *counter = &counts->counters.items[id];
	_cleanup_free_ char *name = NULL;
	int r = 0;

	if (!counter->row) {
		if (asprintf(&name, "%s/%s" TAPE_GAUGE_MADE,
			     counter->kind == CGROUP_UNIT ? "unit" : "containers",
			     strings_at(&counts->names, id)) < 0) {
			name = NULL;
			return -ENOMEM;
		}
		r = tape_add_gauge(tape, name, &counter->row);
		counter->row = r == 0 ? counter->row + 1 : 0;
	}
	/* put a 0 first, because the count was 0 until now */
	if (r == 0 && !counter->has_points && before_ns < now_ns)
		r = tape_add_point(tape, counter->row - 1, before_ns, 0);
	counter->has_points = true;
	return r == 0 ? tape_add_point(tape, counter->row - 1, now_ns, exec_counts_most(counter))
		      : r;
}

int exec_counts_give(struct exec_counts *counts, struct tape *tape, uint64_t now_ns, bool last)
{
	uint64_t before_ns = MAX(counts->given_ns, tape->begin_ns);
	int r = 0;

	if (counts->tape_sequence != tape->sequence + 1)
		for (size_t i = 0; i < counts->counters.count; i++)
			counts->counters.items[i].row = 0;
	counts->tape_sequence = tape->sequence + 1;
	if (!last && now_ns < counts->given_ns + GIVE_NS)
		return 0;
	counts->given_ns = now_ns;
	for (uint32_t id = 1; r == 0 && id < counts->counters.count; id++)
		r = exec_counts_give_one(counts, id, tape, before_ns, now_ns);
	return r;
}
