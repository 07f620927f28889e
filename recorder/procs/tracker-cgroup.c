// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/tracker-internal.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

/* Without memory for it, it is not known. */
static void set_cgroup(struct tracker_process *process, const char *cgroup)
{
	free(process->cgroup);
	process->cgroup = cgroup ? strdup(cgroup) : NULL;
	process->cgroup_row = 0;
}

static void change_cgroup(struct tracker_process *process, const char *path)
{
	if (!process->cgroup || strcmp(path, process->cgroup) != 0)
		set_cgroup(process, path);
}

/* Is it known where the process was at its next exec, or the one at that moment? */
static bool take_start(struct tracker *tracker, struct tracker_process *process, uint64_t time_ns)
{
	const char *path = exec_cgroups_find(&tracker->cgroup_starts, process->pid, time_ns);

	process->cgroup_started = path;
	if (path)
		change_cgroup(process, path);
	return path;
}

void tracker_cgroup_forked(struct tracker_process *child, const struct tracker_process *parent)
{
	set_cgroup(child, parent ? parent->cgroup : NULL);
	child->cgroup_old = true;
	child->cgroup_id = child->cgroup_asked_ns = 0;
	child->cgroup_started = false;
	child->forked = true;
}

void tracker_cgroup_executed(struct tracker *tracker, struct tracker_process *process,
			     uint64_t time_ns)
{
	process->cgroup_old = true;
	process->cgroup_asked_ns = 0;
	process->forked = false;
	if (take_start(tracker, process, time_ns))
		process->cgroup_id = 0;
}

/* Threads of a process may be in several: their samples do not have it asked for each time. */
#define CGROUP_APART_NS NSEC_PER_SEC

/* One that is gone was where it started, or else where its last sample was; if that says nothing,
 * what is known stays. One that cannot be asked now is asked with its next sample. */
static void ask_cgroup(struct tracker *tracker, struct tracker_process *process, const char *named,
		       uint64_t time_ns)
{
	char path[CGROUP_PATH_MAX];
	int r;

	if (process->cgroup_asked_ns && time_ns < process->cgroup_asked_ns + CGROUP_APART_NS)
		return;
	r = tracker->read_cgroup(tracker->reader, process->pid, path);
	process->cgroup_old = r == -EAGAIN;
	if (r == 0)
		process->cgroup_asked_ns = time_ns;
	if (r == 0 || (r != -EAGAIN && named && !process->cgroup_started))
		change_cgroup(process, r == 0 ? path : named);
}

/* What samples name says nothing where it is the root: the processes of a host with cgroups of
 * version 1 are all in that. */
static void look_for_cgroup(struct tracker *tracker, struct tracker_process *process,
			    uint64_t time_ns)
{
	uint64_t id = process->cgroup_id;
	const char *named = id ? cgroup_ids_find(&tracker->cgroup_ids, id) : NULL;

	if (named && tracker->read_cgroup && (!*named || strcmp(named, "/") == 0))
		named = NULL;
	if (tracker->read_cgroup && !(named && tracker->cgroup_ids.unified)) {
		if (process->forked && take_start(tracker, process, time_ns))
			process->cgroup_old = false;
		else
			ask_cgroup(tracker, process, named, time_ns);
		return;
	}
	process->cgroup_old = false;
	if (named)
		change_cgroup(process, named);
}

void tracker_doubt_cgroups(struct tracker *tracker)
{
	for (size_t i = 0; i < tracker->processes.count; i++)
		tracker->processes.items[i].cgroup_old = true;
}

const char *tracker_cgroup(struct tracker *tracker, struct tracker_process *process, uint64_t id,
			   uint64_t time_ns)
{
	if (id && id != process->cgroup_id) {
		tracker->samples_name = true;
		process->cgroup_started &= !process->cgroup_id;
		process->cgroup_id = id;
		process->cgroup_old = true;
	}
	if (process->cgroup_old)
		look_for_cgroup(tracker, process, time_ns);
	return process->cgroup ? process->cgroup : "";
}

void tracker_started(struct tracker *tracker, const struct perf_record *record)
{
	bool named = tracker->samples_name && tracker->cgroup_ids.alone;

	if (record->type == PERF_TYPE_COMM && record->comm.exec && tracker->read_cgroup && !named)
		exec_cgroups_see(&tracker->cgroup_starts, record->comm.pid, record->time_ns);
}

void tracker_ask_started(struct tracker *tracker)
{
	if (tracker->read_cgroup)
		exec_cgroups_ask(&tracker->cgroup_starts, tracker->read_cgroup, tracker->reader);
}

void tracker_forget_started(struct tracker *tracker, uint64_t before_ns)
{
	exec_cgroups_forget(&tracker->cgroup_starts, before_ns);
}
