/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The paths of cgroups by the kernel's numbers of them, which samples carry (PERF_SAMPLE_CGROUP):
 * who started in a new cgroup and is gone again when it is asked was where its samples say. The
 * numbers are of the hierarchy that perf events are in: the unified one, or where version 1 has one
 * for them, that.
 *
 * Those that are made while we record come as records, the others from a walk. Of many, those that
 * were neither made nor asked for lately are forgotten.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"

struct proc_reader;

/* Twice so many are known at most. */
#define CGROUP_IDS_MAX 8192

struct cgroup_id {
	uint64_t id;
	/* a string of its generation */
	uint32_t path;
};

struct cgroup_generation {
	array_of(struct cgroup_id) list;
	struct table table;
	struct strings paths;
};

/* Zeroed is empty. */
struct cgroup_ids {
	/* The unified hierarchy, as we see it in /proc: a path that is not its root is what
	 * cgroup_choose() takes. */
	bool unified;
	/* and there is no other: who is in its root is in no other cgroup */
	bool alone;
	struct cgroup_generation recent, older;
};

void cgroup_ids_done(struct cgroup_ids *ids);
/* A cgroup was made, or seen. 0 or -ENOMEM. */
int cgroup_ids_add(struct cgroup_ids *ids, uint64_t id, const char *path);
/* NULL when it is not known. Borrowed until the next call. */
const char *cgroup_ids_find(struct cgroup_ids *ids, uint64_t id);
/* Those that are there, on this host. What cannot be read in time is not known: 0 or -ENOMEM. */
int cgroup_ids_scan(struct cgroup_ids *ids, struct proc_reader *reader);
