/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * In which cgroups programs started: asked of /proc as soon as the kernel has told of the exec. It is that record's turn, and that of the
 * program's samples, up to a second later: then a short program is gone, and with it what nobody asked. Of a storm of them so many are asked as
 * cost little.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/allowance.h"
#include "recorder/procs/cgroup.h"

struct cgroup_start {
	int32_t pid;
	uint64_t time_ns; /* of the exec */
	char *path; /* NULL: it was gone, or not asked */
};

/* Zeroed is empty. */
struct cgroup_starts {
	array_of(struct cgroup_start) list; /* as they came */
	size_t asked; /* the first so many were */
	struct allowance asking, looking;
};

void cgroup_starts_done(struct cgroup_starts *starts);
/* How long to wait for more when something has started: who starts something starts more. */
uint64_t cgroup_starts_pause(struct cgroup_starts *starts);
/* The kernel tells of an exec. Without memory, or when there are too many, it is not asked. */
void cgroup_starts_see(struct cgroup_starts *starts, int32_t pid, uint64_t time_ns);
/* Asks of those that were seen since the last time, by the tracker's read_cgroup. */
void cgroup_starts_ask(struct cgroup_starts *starts,
	int (*read)(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX]),
	struct proc_reader *reader);
/* Where a process was at its first exec at that moment or behind it; NULL: not known. Borrowed until the next call that changes them. */
const char *cgroup_starts_find(const struct cgroup_starts *starts, int32_t pid, uint64_t time_ns);
/* Those before a moment are not asked for any more. */
void cgroup_starts_forget(struct cgroup_starts *starts, uint64_t before_ns);
