// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/exec-cgroups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/*
 * The number of execs in about one second on a host that starts more processes than this file
 * reads.
 */
#define LIST_MAX 1024

/*
 * Service managers and container runtimes start fewer programs. A refused program that stays in the
 * cgroup of its parent is still right, because the tracker uses the parent's cgroup.
 */
static const struct account_limits exec_limits = {
	.own = { .burst = 64, .rate = 32 },
	.sure = { .burst = 2, .rate = 1 },
	.all = { .burst = 512, .rate = 256 },
};

#define READ_INTERVAL_NS (5 * NSEC_PER_MSEC)
#define READ_BURST 50

/* With this pause, 1,000 execs per second are read in at most 200 batches. */
#define PAUSE_NS (5 * NSEC_PER_MSEC)

/* With few execs, the pause is shorter, because a process may end after a few milliseconds. */
#define SHORT_PAUSE_NS (500 * NSEC_PER_USEC)
#define SHORT_PAUSE_INTERVAL_NS (10 * NSEC_PER_MSEC)
#define SHORT_PAUSE_BURST 20

void exec_cgroups_init(struct exec_cgroups *execs)
{
	*execs = (struct exec_cgroups){ 0 };
	accounts_init(&execs->accounts, &exec_limits);
}

void exec_cgroups_done(struct exec_cgroups *execs)
{
	accounts_done(&execs->accounts);
	for (size_t i = 0; i < execs->list.count; i++)
		free(execs->list.items[i].path);
	array_done(&execs->list);
}

uint64_t exec_cgroups_pause(struct exec_cgroups *execs)
{
	execs->pauses.interval_ns = SHORT_PAUSE_INTERVAL_NS;
	execs->pauses.burst = SHORT_PAUSE_BURST;
	return allowance_take(&execs->pauses, clock_ns(CLOCK_MONOTONIC)) ? SHORT_PAUSE_NS
									 : PAUSE_NS;
}

void exec_cgroups_fork(struct exec_cgroups *execs, const struct exec_fork *fork)
{
	if (fork->pid != fork->parent)
		execs->forks[(uint32_t)fork->pid % EXEC_FORKS] = *fork;
}

const struct exec_fork *exec_cgroups_last_fork(const struct exec_cgroups *execs, int32_t pid)
{
	const struct exec_fork *fork = &execs->forks[(uint32_t)pid % EXEC_FORKS];

	return fork->pid == pid ? fork : NULL;
}

void exec_cgroups_add(struct exec_cgroups *execs, int32_t pid, uint64_t time_ns)
{
	const struct exec_fork *fork = exec_cgroups_last_fork(execs, pid);

	if (execs->list.count < LIST_MAX &&
	    accounts_take(&execs->accounts, fork ? fork->parent : pid, 1))
		(void)array_push(&execs->list, (struct exec_cgroup){ pid, time_ns, NULL });
}

void exec_cgroups_read(struct exec_cgroups *execs,
		       int (*read)(struct proc_reader *reader, int32_t pid,
				   char path[CGROUP_PATH_MAX]),
		       struct proc_reader *reader)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	char path[CGROUP_PATH_MAX];
	int r = 0;

	execs->reads.interval_ns = READ_INTERVAL_NS;
	execs->reads.burst = READ_BURST;
	for (size_t i = execs->read_count;
	     i < execs->list.count && allowance_take(&execs->reads, now_ns) && r != -EAGAIN; i++) {
		r = read(reader, execs->list.items[i].pid, path);
		execs->list.items[i].path = r == 0 ? strdup(path) : NULL;
	}
	execs->read_count = execs->list.count;
}

const char *exec_cgroups_find(const struct exec_cgroups *execs, int32_t pid, uint64_t time_ns)
{
	const struct exec_cgroup *first = NULL;

	for (size_t i = 0; i < execs->list.count; i++) {
		const struct exec_cgroup *start = &execs->list.items[i];

		if (start->pid == pid && start->time_ns >= time_ns &&
		    (!first || start->time_ns < first->time_ns))
			first = start;
	}
	return first ? first->path : NULL;
}

void exec_cgroups_forget(struct exec_cgroups *execs, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < execs->list.count; i++)
		if (execs->list.items[i].time_ns < before_ns)
			free(execs->list.items[i].path);
		else
			execs->list.items[kept++] = execs->list.items[i];
	execs->list.count = execs->read_count = kept;
	accounts_begin(&execs->accounts, 1);
}
