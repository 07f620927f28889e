/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The paths of cgroups by the kernel's ids, which samples carry (PERF_SAMPLE_CGROUP). The id of a
 * sample shows the cgroup of a process even if that process ends before the recorder can read
 * /proc. The ids belong to the hierarchy of perf events: that of version 1 for perf events if it
 * exists, otherwise the unified one.
 *
 * The kernel reports new cgroups as records; a walk finds the cgroups that existed before. With too
 * many entries, the object forgets those that were neither added nor found recently.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"

struct proc_reader;

/* The tables hold at most twice this number. */
#define CGROUP_IDS_MAX 8192

struct cgroup_id {
	uint64_t id;
	/* The path: a string of the entry's generation. */
	uint32_t path;
};

struct cgroup_generation {
	array_of(struct cgroup_id) list;
	struct table table;
	struct strings paths;
};

/* Zero it to start. */
struct cgroup_ids {
	/*
	 * The hierarchy is the unified one, with the paths that /proc shows. In that case, a path
	 * other than the root is the path that cgroup_choose() returns.
	 */
	bool unified;
	/*
	 * No other hierarchy exists: a process in the root of this one is not in any other cgroup.
	 */
	bool only_hierarchy;
	struct cgroup_generation recent, older;
};

void cgroup_ids_done(struct cgroup_ids *ids);
/* Adds a cgroup. Returns 0 or -ENOMEM. */
int cgroup_ids_add(struct cgroup_ids *ids, uint64_t id, const char *path);
/* Returns the path of a cgroup, or NULL if it is unknown. Valid until the next call. */
const char *cgroup_ids_find(struct cgroup_ids *ids, uint64_t id);
/*
 * Adds all cgroups of this host, except those that the reader cannot read in time. Returns 0 or
 * -ENOMEM.
 */
int cgroup_ids_scan(struct cgroup_ids *ids, struct proc_reader *reader);
