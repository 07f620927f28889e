// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/tracker-internal.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

/* Makes the numbers of processes differ from other hashes. */
#define OWNER_IS_PROCESS 0x6f776e6572

static uint64_t tracker_owner_of(const struct tracker_process *process)
{
	if (process->cgroup)
		return hash_text(process->cgroup, cgroup_owner_size(process->cgroup)) | 1;
	return process->ancestor ? process->ancestor
				 : hash_numbers(process->pid, OWNER_IS_PROCESS) | 1;
}

/* Sets the cgroup; NULL: unknown. It also becomes unknown if memory is short. */
static void tracker_cgroup_set(struct tracker_process *process, const char *cgroup)
{
	free(process->cgroup);
	process->cgroup = cgroup ? strdup(cgroup) : NULL;
	process->cgroup_row = 0;
}

static void tracker_cgroup_change(struct tracker_process *process, const char *path)
{
	if (!process->cgroup || strcmp(path, process->cgroup) != 0)
		tracker_cgroup_set(process, path);
}

/*
 * Uses the cgroup that exec_cgroups_read() found at the process's first exec at or after time_ns.
 * Returns false if it did not find one.
 */
static bool tracker_cgroup_use_exec(struct tracker *tracker, struct tracker_process *process,
				    uint64_t time_ns)
{
	const char *path = exec_cgroups_find(&tracker->exec_cgroups, process->pid, time_ns);

	process->cgroup_from_exec = path;
	if (path)
		tracker_cgroup_change(process, path);
	return path;
}

/* Returns the owner of the process that forked this one. */
static uint64_t tracker_forking_owner(const struct tracker *tracker, int32_t pid,
				      const struct tracker_process *parent)
{
	const struct exec_fork *fork = exec_cgroups_last_fork(&tracker->exec_cgroups, pid);

	if (parent)
		return tracker_owner_of(parent);
	return fork ? fork->owner : TRACKER_OWNER_UNKNOWN;
}

void tracker_cgroup_forked(struct tracker *tracker, struct tracker_process *child,
			   const struct tracker_process *parent)
{
	tracker_cgroup_set(child, parent ? parent->cgroup : NULL);
	child->cgroup_expired = true;
	child->cgroup_id = child->cgroup_read_ns = 0;
	child->cgroup_from_exec = false;
	child->forked = true;
	child->ancestor = tracker_forking_owner(tracker, child->pid, parent);
}

void tracker_cgroup_executed(struct tracker *tracker, struct tracker_process *process,
			     uint64_t time_ns)
{
	process->cgroup_expired = true;
	process->cgroup_read_ns = 0;
	process->forked = false;
	if (tracker_cgroup_use_exec(tracker, process, time_ns))
		process->cgroup_id = 0;
}

/*
 * The least time between two reads of a process's cgroup. Threads of one process may be in several
 * cgroups, and each change between their samples expires the cgroup.
 */
#define CGROUP_INTERVAL_NS NSEC_PER_SEC

/*
 * Reads the cgroup from /proc. If the process has ended, keeps the cgroup of its exec, or else uses
 * that of its last sample (`named`). If reading takes too long, the next sample tries again.
 */
static void tracker_cgroup_read(struct tracker *tracker, struct tracker_process *process,
				const char *named, uint64_t time_ns)
{
	char path[CGROUP_PATH_MAX];
	int r;

	if (process->cgroup_read_ns && time_ns < process->cgroup_read_ns + CGROUP_INTERVAL_NS)
		return;
	r = tracker->read_cgroup(tracker->reader, process->pid, path);
	process->cgroup_expired = r == -EAGAIN;
	if (r == 0)
		process->cgroup_read_ns = time_ns;
	if (r == 0 || (r != -EAGAIN && named && !process->cgroup_from_exec))
		tracker_cgroup_change(process, r == 0 ? path : named);
}

/*
 * Ignores the root as the cgroup of a sample. On a host with cgroups of version 1, all processes
 * are in the root of the other hierarchy.
 */
static void tracker_cgroup_update(struct tracker *tracker, struct tracker_process *process,
				  uint64_t time_ns)
{
	uint64_t id = process->cgroup_id;
	const char *named = id ? cgroup_ids_find(&tracker->cgroup_ids, id) : NULL;

	if (named && tracker->read_cgroup && (!*named || strcmp(named, "/") == 0))
		named = NULL;
	if (tracker->read_cgroup && !(named && tracker->cgroup_ids.unified)) {
		if (process->forked && tracker_cgroup_use_exec(tracker, process, time_ns))
			process->cgroup_expired = false;
		else
			tracker_cgroup_read(tracker, process, named, time_ns);
		return;
	}
	process->cgroup_expired = false;
	if (named)
		tracker_cgroup_change(process, named);
}

void tracker_expire_cgroups(struct tracker *tracker)
{
	for (size_t i = 0; i < tracker->processes.count; i++)
		tracker->processes.items[i].cgroup_expired = true;
}

const char *tracker_cgroup(struct tracker *tracker, struct tracker_process *process, uint64_t id,
			   uint64_t time_ns)
{
	if (id && id != process->cgroup_id) {
		tracker->samples_have_cgroups = true;
		process->cgroup_from_exec &= !process->cgroup_id;
		process->cgroup_id = id;
		process->cgroup_expired = true;
	}
	if (process->cgroup_expired)
		tracker_cgroup_update(tracker, process, time_ns);
	return process->cgroup ? process->cgroup : "";
}

static void tracker_note_fork(struct tracker *tracker, const struct perf_record *record)
{
	const struct exec_fork fork = {
		.pid = record->task.pid,
		.parent = record->task.parent_pid,
		.time_ns = record->time_ns,
		.owner = tracker_owner(tracker, record->task.parent_pid),
	};

	exec_cgroups_fork(&tracker->exec_cgroups, &fork);
}

void tracker_note_exec(struct tracker *tracker, const struct perf_record *record)
{
	bool named = tracker->samples_have_cgroups && tracker->cgroup_ids.only_hierarchy;

	if (record->type == PERF_TYPE_FORK)
		tracker_note_fork(tracker, record);
	if (record->type == PERF_TYPE_COMM && record->comm.exec && tracker->read_cgroup && !named)
		exec_cgroups_add(&tracker->exec_cgroups, record->comm.pid, record->time_ns);
}

void tracker_read_exec_cgroups(struct tracker *tracker)
{
	if (tracker->read_cgroup)
		exec_cgroups_read(&tracker->exec_cgroups, tracker->read_cgroup, tracker->reader);
}

void tracker_forget_execs(struct tracker *tracker, uint64_t before_ns)
{
	exec_cgroups_forget(&tracker->exec_cgroups, before_ns);
}

uint64_t tracker_owner(struct tracker *tracker, int32_t pid)
{
	const struct tracker_process *process = tracker_process(tracker, pid);
	const struct exec_fork *fork = exec_cgroups_last_fork(&tracker->exec_cgroups, pid);

	/* the record of the fork may not be applied yet */
	if (fork && (!process || (process->exited_ns && fork->time_ns > process->exited_ns)))
		return fork->owner;
	return process ? tracker_owner_of(process) : TRACKER_OWNER_UNKNOWN;
}
