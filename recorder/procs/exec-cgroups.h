/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The cgroups in which programs start, read from /proc as soon as the kernel reports the exec. The
 * pipeline applies the record of the exec up to a second later, when a short program has already
 * ended. In a storm of execs, reads only a bounded number. A process and its children share one
 * account, so that a storm leaves room for the programs of other processes.
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
	/* NULL: the process had ended, or the number of reads was at its bound. */
	char *path;
};

#define EXEC_FORKS 1024

struct exec_fork {
	int32_t pid;
	int32_t parent;
	uint64_t time_ns;
	/* The owner of the parent (tracker_owner()). */
	uint64_t owner;
};

struct exec_cgroups {
	/* In the order in which they were added. */
	array_of(struct exec_cgroup) list;
	/* The number of entries at the beginning of `list` that are done: read, or skipped. */
	size_t read_count;
	struct allowance reads, pauses;
	/* The exec of a process is charged to the process that forked it. */
	struct accounts accounts;
	/* The last forks, at index child's pid modulo EXEC_FORKS. */
	struct exec_fork forks[EXEC_FORKS];
};

void exec_cgroups_init(struct exec_cgroups *execs);
void exec_cgroups_done(struct exec_cgroups *execs);
/* Returns the time to wait for more execs after one came, because execs often come in groups. */
uint64_t exec_cgroups_pause(struct exec_cgroups *execs);
/* Notes that a process was forked, and the owner of its parent. */
void exec_cgroups_fork(struct exec_cgroups *execs, const struct exec_fork *fork);
/* Returns the last fork of a process, or NULL if it is not among the last forks. */
const struct exec_fork *exec_cgroups_last_fork(const struct exec_cgroups *execs, int32_t pid);
/*
 * Adds an exec that the kernel reported. Drops the exec if memory is short, if the list is full, or
 * if the process that forked it has used up its share.
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
 * Returns the cgroup of a process at its first exec at or after time_ns; NULL if that cgroup is
 * unknown. Valid until the next call that changes the list.
 */
const char *exec_cgroups_find(const struct exec_cgroups *execs, int32_t pid, uint64_t time_ns);
/* Forgets the execs before before_ns, and renews the shares. Call it once per second. */
void exec_cgroups_forget(struct exec_cgroups *execs, uint64_t before_ns);
