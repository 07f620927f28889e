/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The paths of cgroups by the kernel's ids, which samples carry (PERF_SAMPLE_CGROUP). The id of a
 * sample shows the cgroup of a process that is gone before /proc can be read. The ids belong to the
 * hierarchy of perf events: the unified one, or that of version 1 if it has one for perf events.
 *
 * The kernel reports cgroups that are made during the recording as records; a walk finds the
 * others. If there are many, those that were neither made nor looked up recently are forgotten.
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
	 * The hierarchy is the unified one, with the paths that /proc shows. A path other than the
	 * root is then what cgroup_choose() returns.
	 */
	bool unified;
	/* No other hierarchy exists: a process in its root is in no other cgroup. */
	bool only_hierarchy;
	struct cgroup_generation recent, older;
};

void cgroup_ids_done(struct cgroup_ids *ids);
/* Adds a cgroup. Returns 0 or -ENOMEM. */
int cgroup_ids_add(struct cgroup_ids *ids, uint64_t id, const char *path);
/* Returns the path of a cgroup, or NULL if it is unknown. Valid until the next call. */
const char *cgroup_ids_find(struct cgroup_ids *ids, uint64_t id);
/* Adds all cgroups of this host. Leaves out what cannot be read in time. Returns 0 or -ENOMEM. */
int cgroup_ids_scan(struct cgroup_ids *ids, struct proc_reader *reader);
