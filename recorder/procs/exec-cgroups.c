// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/exec-cgroups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* A second's worth, of a host that starts more than are asked. */
#define SEEN_MAX 1024

#define ASKED_EACH_NS (5 * NSEC_PER_MSEC)
#define ASKED_AT_ONCE 50

/* A thousand programs a second are looked at in 200 goes. */
#define PAUSE_NS (5 * NSEC_PER_MSEC)

/* Where little starts, it is looked at sooner: what is gone after a few milliseconds cannot be
 * asked any more. */
#define SOON_NS (500 * NSEC_PER_USEC)
#define SOON_EACH_NS (10 * NSEC_PER_MSEC)
#define SOON_AT_ONCE 20

void exec_cgroups_done(struct exec_cgroups *starts)
{
	for (size_t i = 0; i < starts->list.count; i++)
		free(starts->list.items[i].path);
	array_done(&starts->list);
}

uint64_t exec_cgroups_pause(struct exec_cgroups *starts)
{
	starts->looking.interval_ns = SOON_EACH_NS;
	starts->looking.burst = SOON_AT_ONCE;
	return allowance_take(&starts->looking, clock_ns(CLOCK_MONOTONIC)) ? SOON_NS : PAUSE_NS;
}

void exec_cgroups_see(struct exec_cgroups *starts, int32_t pid, uint64_t time_ns)
{
	if (starts->list.count < SEEN_MAX)
		(void)array_push(&starts->list, (struct cgroup_start){ pid, time_ns, NULL });
}

void exec_cgroups_ask(struct exec_cgroups *starts,
		      int (*read)(struct proc_reader *reader, int32_t pid,
				  char path[CGROUP_PATH_MAX]),
		      struct proc_reader *reader)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	char path[CGROUP_PATH_MAX];
	int r = 0;

	starts->asking.interval_ns = ASKED_EACH_NS;
	starts->asking.burst = ASKED_AT_ONCE;
	for (size_t i = starts->asked;
	     i < starts->list.count && allowance_take(&starts->asking, now_ns) && r != -EAGAIN;
	     i++) {
		r = read(reader, starts->list.items[i].pid, path);
		starts->list.items[i].path = r == 0 ? strdup(path) : NULL;
	}
	starts->asked = starts->list.count;
}

const char *exec_cgroups_find(const struct exec_cgroups *starts, int32_t pid, uint64_t time_ns)
{
	const struct cgroup_start *first = NULL;

	for (size_t i = 0; i < starts->list.count; i++) {
		const struct cgroup_start *start = &starts->list.items[i];

		if (start->pid == pid && start->time_ns >= time_ns &&
		    (!first || start->time_ns < first->time_ns))
			first = start;
	}
	return first ? first->path : NULL;
}

void exec_cgroups_forget(struct exec_cgroups *starts, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < starts->list.count; i++)
		if (starts->list.items[i].time_ns < before_ns)
			free(starts->list.items[i].path);
		else
			starts->list.items[kept++] = starts->list.items[i];
	starts->list.count = starts->asked = kept;
}
