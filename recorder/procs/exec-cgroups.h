/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The cgroups in which programs start, read from /proc as soon as the kernel reports the exec. The
 * exec's record, and the program's samples, are applied up to a second later. A short program is
 * gone by then. In a storm of execs, reads only as many as cost little. Each process has a share
 * for itself and the processes that it forks, so that a storm leaves room for the programs of
 * others.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/allowance.h"
#include "recorder/procs/accounts.h"
#include "recorder/procs/cgroup.h"

struct exec_cgroup {
	int32_t pid;
	/* Time of the exec. */
	uint64_t time_ns;
	/* NULL: the process was gone, or it was not read. */
	char *path;
};

#define EXEC_FORKS 1024

struct exec_fork {
	int32_t pid;
	int32_t parent;
};

struct exec_cgroups {
	/* In the order in which they were added. */
	array_of(struct exec_cgroup) list;
	/* The number of entries at the beginning of `list` that were read or passed over. */
	size_t read_count;
	struct allowance reads, pauses;
	/* Whoever forked a process pays for its exec. */
	struct accounts accounts;
	/* The last forks, each at the child's pid modulo EXEC_FORKS. */
	struct exec_fork forks[EXEC_FORKS];
};

void exec_cgroups_init(struct exec_cgroups *execs);
void exec_cgroups_done(struct exec_cgroups *execs);
/* Returns how long to wait for more execs after one came, as they often come in groups. */
uint64_t exec_cgroups_pause(struct exec_cgroups *execs);
/* Notes that a process was forked. */
void exec_cgroups_fork(struct exec_cgroups *execs, int32_t pid, int32_t parent);
/*
 * Adds an exec that the kernel reported. Drops it without memory, if there are too many, or if the
 * process that forked it has too many.
 */
void exec_cgroups_add(struct exec_cgroups *execs, int32_t pid, uint64_t time_ns);
/*
 * Reads the cgroups of the execs that were added since the last call, with the tracker's
 * read_cgroup.
 */
void exec_cgroups_read(struct exec_cgroups *execs,
		       int (*read)(struct proc_reader *reader, int32_t pid,
				   char path[CGROUP_PATH_MAX]),
		       struct proc_reader *reader);
/*
 * Returns the cgroup of a process at its first exec at or after time_ns; NULL if it is unknown.
 * Valid until the next call that changes the list.
 */
const char *exec_cgroups_find(const struct exec_cgroups *execs, int32_t pid, uint64_t time_ns);
/* Forgets the execs that are older than before_ns, and renews the shares. Call it once per second.
 */
void exec_cgroups_forget(struct exec_cgroups *execs, uint64_t before_ns);
