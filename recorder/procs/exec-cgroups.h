/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * In which cgroups programs started: asked of /proc as soon as the kernel has told of the exec. It
 * is that record's turn, and that of the program's samples, up to a second later: then a short
 * program is gone, and with it what nobody asked. Of a storm of them so many are asked as cost
 * little.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/allowance.h"
#include "recorder/procs/cgroup.h"

struct cgroup_start {
	int32_t pid;
	/* of the exec */
	uint64_t time_ns;
	/* NULL: it was gone, or not asked */
	char *path;
};

/* Zeroed is empty. */
struct exec_cgroups {
	/* as they came */
	array_of(struct cgroup_start) list;
	/* the first so many were */
	size_t asked;
	struct allowance asking, looking;
};

void exec_cgroups_done(struct exec_cgroups *starts);
/* How long to wait for more when something has started: who starts something starts more. */
uint64_t exec_cgroups_pause(struct exec_cgroups *starts);
/* The kernel tells of an exec. Without memory, or when there are too many, it is not asked. */
void exec_cgroups_see(struct exec_cgroups *starts, int32_t pid, uint64_t time_ns);
/* Asks of those that were seen since the last time, by the tracker's read_cgroup. */
void exec_cgroups_ask(struct exec_cgroups *starts,
		      int (*read)(struct proc_reader *reader, int32_t pid,
				  char path[CGROUP_PATH_MAX]),
		      struct proc_reader *reader);
/* Where a process was at its first exec at that moment or behind it; NULL: not known. Borrowed
 * until the next call that changes them. */
const char *exec_cgroups_find(const struct exec_cgroups *starts, int32_t pid, uint64_t time_ns);
/* Those before a moment are not asked for any more. */
void exec_cgroups_forget(struct exec_cgroups *starts, uint64_t before_ns);
