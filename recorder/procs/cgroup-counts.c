// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/cgroup-counts.h"

#include <inttypes.h>
#include <stdio.h>

/* The greatest number of cgroups that a tape names. */
#define FACTS_MAX 8

void cgroup_counts_done(struct cgroup_counts *counts)
{
	strings_done(&counts->names);
	array_done(&counts->list);
}

/* The number of a string in `names` is the index of its row in `list`. */
int cgroup_counts_add(struct cgroup_counts *counts, const char *cgroup, uint64_t count)
{
	uint32_t id = 0;
	int r;

	counts->total += count;
	if (!counts->list.count && array_push(&counts->list, (struct cgroup_count){ 0 }) < 0)
		return -ENOMEM;
	if (counts->list.count < CGROUP_COUNTS_MAX) {
		r = strings_add(&counts->names, cgroup, strlen(cgroup), &id);
		if (r < 0)
			return r;
	} else {
		id = strings_find(&counts->names, cgroup, strlen(cgroup));
	}
	if (id >= counts->list.count &&
	    array_push(&counts->list, (struct cgroup_count){ .cgroup = id }) < 0)
		return -ENOMEM;
	counts->list.items[id].in_tape += count;
	counts->list.items[id].total += count;
	return 0;
}

static struct cgroup_count *cgroup_counts_most_in_tape(struct cgroup_counts *counts)
{
	struct cgroup_count *most = NULL;

	for (size_t i = 0; i < counts->list.count; i++)
		if (counts->list.items[i].in_tape &&
		    (!most || counts->list.items[i].in_tape > most->in_tape))
			most = &counts->list.items[i];
	return most;
}

int cgroup_counts_move_to_tape(struct cgroup_counts *counts, struct tape *tape, const char *what)
{
	struct cgroup_count *most;
	char key[512], value[24];
	int r = 0;

	for (int i = 0; r == 0 && i < FACTS_MAX; i++) {
		most = cgroup_counts_most_in_tape(counts);
		if (!most)
			return 0;
		snprintf(key, sizeof(key), "%s %s", what, strings_at(&counts->names, most->cgroup));
		snprintf(value, sizeof(value), "%" PRIu64, most->in_tape);
		r = tape_add_fact(tape, key, value);
		most->in_tape = 0;
	}
	for (size_t i = 0; i < counts->list.count; i++)
		counts->list.items[i].in_tape = 0;
	return r;
}

const char *cgroup_counts_most(const struct cgroup_counts *counts)
{
	const struct cgroup_count *most = NULL;

	for (size_t i = 0; i < counts->list.count; i++)
		if (!most || counts->list.items[i].total > most->total)
			most = &counts->list.items[i];
	return most ? strings_at(&counts->names, most->cgroup) : "";
}
