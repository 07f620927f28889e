// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/tracker.h"

#include <assert.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mutation.h"
#include "recorder/procs/tracker-internal.h"

/*
 * Invariants:
 * (1) a process exists if one of its threads exists;
 * (2) a row that is not `used` is on the free list of its array, and is not in a table.
 */

int tracker_init(struct tracker *tracker)
{
	*tracker = (struct tracker){ 0 };
	exec_cgroups_init(&tracker->exec_cgroups);
	if (modules_init(&tracker->modules) < 0)
		return -ENOMEM;
	return maps_new(&tracker->maps, MAPS_KERNEL_MAX, &tracker->kernel);
}

void tracker_done(struct tracker *tracker)
{
	for (size_t i = 0; i < tracker->processes.count; i++) {
		maps_unref(tracker->processes.items[i].maps);
		maps_unref(tracker->processes.items[i].before);
		free(tracker->processes.items[i].cgroup);
	}
	maps_unref(tracker->kernel);
	strings_done(&tracker->strings);
	modules_done(&tracker->modules);
	cgroup_ids_done(&tracker->cgroup_ids);
	exec_cgroups_done(&tracker->exec_cgroups);
	array_done(&tracker->threads);
	array_done(&tracker->processes);
	array_done(&tracker->free_threads);
	array_done(&tracker->free_processes);
	array_done(&tracker->rereads);
	cgroup_counts_done(&tracker->refused);
	table_done(&tracker->thread_table);
	table_done(&tracker->process_table);
}

/*
 * Time before the maps of a process with too many mappings are read again: 1 s, then 2 s, up to 64
 * s.
 */
#define REREAD_NS NSEC_PER_SEC
#define REREAD_SHIFT_MAX 6

static uint64_t tracker_hash_id(int32_t id)
{
	return hash_numbers((uint32_t)id, 0);
}

static bool tracker_thread_equal(const void *context, uint32_t at, const void *tid)
{
	return ((const struct tracker *)context)->threads.items[at].tid == *(const int32_t *)tid;
}

/*
 * Finds a thread. First tries the row where the last thread with the same low bits was found,
 * because most look-ups are of a few running threads.
 */
static struct tracker_thread *tracker_find_thread(struct tracker *tracker, int32_t tid)
{
	uint32_t *found = &tracker->found_threads[(uint32_t)tid % TRACKER_FOUND];
	struct tracker_thread *thread;

	if (*found < tracker->threads.count) {
		thread = &tracker->threads.items[*found];
		if (thread->tid == tid && thread->used)
			return thread;
	}
	*found = table_find(&tracker->thread_table, tracker_hash_id(tid), tracker_thread_equal,
			    tracker, &tid);
	return *found == TABLE_NONE ? NULL : &tracker->threads.items[*found];
}

static bool tracker_process_equal(const void *context, uint32_t at, const void *pid)
{
	return ((const struct tracker *)context)->processes.items[at].pid == *(const int32_t *)pid;
}

static struct tracker_process *tracker_find_process(struct tracker *tracker, int32_t pid)
{
	uint32_t *found = &tracker->found_processes[(uint32_t)pid % TRACKER_FOUND];
	struct tracker_process *process;

	if (*found < tracker->processes.count) {
		process = &tracker->processes.items[*found];
		if (process->pid == pid && process->used)
			return process;
	}
	*found = table_find(&tracker->process_table, tracker_hash_id(pid), tracker_process_equal,
			    tracker, &pid);
	return *found == TABLE_NONE ? NULL : &tracker->processes.items[*found];
}

static int tracker_get_thread(struct tracker *tracker, int32_t pid, int32_t tid,
			      struct tracker_thread **ret_thread)
{
	struct tracker_thread *thread = tracker_find_thread(tracker, tid);
	uint32_t at;

	if (!thread) {
		if (!tracker->free_threads.count) {
			if (array_reserve(&tracker->free_threads, tracker->threads.count + 1) < 0 ||
			    array_push(&tracker->threads, (struct tracker_thread){ 0 }) < 0)
				return -ENOMEM;
			tracker->free_threads.items[tracker->free_threads.count++] =
				tracker->threads.count - 1;
		}
		at = tracker->free_threads.items[tracker->free_threads.count - 1];
		if (table_add(&tracker->thread_table, tracker_hash_id(tid), at) < 0)
			return -ENOMEM;
		tracker->free_threads.count--;
		thread = &tracker->threads.items[at];
		assert(!thread->used);
		*thread = (struct tracker_thread){
			.pid = pid, .tid = tid, .used = true, .scanned = tracker->scans
		};
	}
	*ret_thread = thread;
	return 0;
}

static int tracker_get_process(struct tracker *tracker, int32_t pid,
			       struct tracker_process **ret_process)
{
	struct tracker_process *process = tracker_find_process(tracker, pid);
	struct maps *maps;
	uint32_t at;

	if (!process) {
		if (!tracker->free_processes.count) {
			if (array_reserve(&tracker->free_processes, tracker->processes.count + 1) <
				    0 ||
			    array_push(&tracker->processes, (struct tracker_process){ 0 }) < 0)
				return -ENOMEM;
			tracker->free_processes.items[tracker->free_processes.count++] =
				tracker->processes.count - 1;
		}
		at = tracker->free_processes.items[tracker->free_processes.count - 1];
		if (maps_new(&tracker->maps, MAPS_MAX, &maps) < 0)
			return -ENOMEM;
		if (table_add(&tracker->process_table, tracker_hash_id(pid), at) < 0) {
			maps_unref(maps);
			return -ENOMEM;
		}
		tracker->free_processes.count--;
		process = &tracker->processes.items[at];
		assert(!process->used);
		*process = (struct tracker_process){
			.pid = pid,
			.used = true,
			.maps = maps,
			.cgroup_expired = true,
			.scanned = tracker->scans,
		};
	}
	*ret_process = process;
	return 0;
}

/* Gives the process empty mappings. With `exec`, keeps the old mappings as `before`. */
static int tracker_forget_maps(struct tracker *tracker, struct tracker_process *process, bool exec)
{
	struct maps *maps;
	int r = maps_new(&tracker->maps, MAPS_MAX, &maps);

	if (r < 0)
		return r;
	/* otherwise, a process would have another share each time */
	maps->own_bytes = process->maps->own_bytes;
	maps_unref(process->before);
	process->before = exec ? process->maps : maps_unref(process->maps);
	process->maps = maps;
	return 0;
}

static int tracker_apply_comm(struct tracker *tracker, const struct perf_record *record)
{
	struct tracker_process *process;
	struct tracker_thread *thread;
	uint32_t comm;
	int r;

	r = strings_add(&tracker->strings, record->comm.comm, strlen(record->comm.comm), &comm);
	if (r < 0)
		return r;
	r = tracker_get_process(tracker, record->comm.pid, &process);
	if (r < 0)
		return r;
	r = tracker_get_thread(tracker, record->comm.pid, record->comm.tid, &thread);
	if (r < 0)
		return r;
	thread->pid = record->comm.pid;
	thread->comm = comm;
	thread->row = 0;
	thread->exited_ns = 0;
	process->exited_ns = 0;
	if (!record->comm.exec)
		return 0;
	tracker_cgroup_executed(tracker, process, record->time_ns);
	return tracker_forget_maps(tracker, process, true);
}

static int tracker_fork_process(struct tracker *tracker, const struct perf_record *record)
{
	struct tracker_process *child, *parent;
	int r = tracker_get_process(tracker, record->task.pid, &child);

	if (r < 0)
		return r;
	child->exited_ns = 0;
	if (record->task.pid == record->task.parent_pid)
		return 0;
	parent = tracker_find_process(tracker, record->task.parent_pid);
	tracker_cgroup_forked(tracker, child, parent);
	if (!parent)
		return tracker_forget_maps(tracker, child, false);
	maps_unref(child->maps);
	child->before = maps_unref(child->before);
	child->maps = maps_ref(parent->maps);
	return 0;
}

static int tracker_apply_fork(struct tracker *tracker, const struct perf_record *record)
{
	struct tracker_thread *thread, *parent;
	int r = tracker_fork_process(tracker, record);

	if (r < 0)
		return r;
	r = tracker_get_thread(tracker, record->task.pid, record->task.tid, &thread);
	if (r < 0)
		return r;
	/*
	 * The parent's present name is its name at the fork, because records are applied in time
	 * order.
	 */
	parent = tracker_find_thread(tracker, record->task.parent_tid);
	if (!parent)
		parent = tracker_find_thread(tracker, record->task.parent_pid);
	*thread = (struct tracker_thread){
		.pid = record->task.pid,
		.tid = record->task.tid,
		.comm = parent ? parent->comm : 0,
		.used = true,
		.scanned = tracker->scans,
	};
	return 0;
}

static void tracker_apply_exit(struct tracker *tracker, const struct perf_record *record)
{
	struct tracker_thread *thread = tracker_find_thread(tracker, record->task.tid);
	struct tracker_process *process;

	if (thread && thread->pid == record->task.pid)
		thread->exited_ns = MAX(record->time_ns, 1ull);
	/* Other threads may outlive the leader, so only tracker_sweep() frees the mappings. */
	process = tracker_find_process(tracker, record->task.pid);
	if (process)
		process->exited_ns = MAX(record->time_ns, 1ull);
}

/*
 * The kernel's MMAP record ends after its permanent code. Code that runs only at boot follows in
 * the same gigabyte.
 */
#define KERNEL_IMAGE_MASK 0x3fffffffull

/*
 * Adds a mapping of this host's kernel. Ignores that of a guest, whose addresses are meaningless on
 * the host.
 */
static int tracker_apply_kernel_mmap(struct tracker *tracker, const struct perf_record *record,
				     const struct mapping *mapping)
{
	uint64_t end = mapping->end;
	char name[256];

	if ((record->misc & PERF_MODE_MASK) != PERF_MODE_KERNEL)
		return 0;
	modules_kernel_name(record->mmap.path, name, sizeof(name));
	if (strcmp(name, "[kernel.kallsyms]") == 0)
		end = MAX(end, (mapping->start | KERNEL_IMAGE_MASK) + 1);
	return tracker_add_kernel(tracker, mapping->start, end, name, record->mmap.build_id,
				  record->mmap.build_id_size);
}

int tracker_refuse(struct tracker *tracker, int32_t pid, uint64_t count)
{
	const struct tracker_process *process = tracker_find_process(tracker, pid);
	const char *cgroup = process && process->cgroup ? process->cgroup : "";

	return cgroup_counts_add(&tracker->refused, cgroup, count);
}

/*
 * Notes that a mapping was left out. The process may have unmapped most of its other mappings,
 * which the kernel does not report, so request a read of its maps from /proc.
 */
static int tracker_note_crowded(struct tracker *tracker, struct tracker_process *process)
{
	if (!process->crowded && array_push(&tracker->rereads, process->pid) < 0)
		return -ENOMEM;
	process->crowded = true;
	return tracker_refuse(tracker, process->pid, 1);
}

int tracker_next_reread(struct tracker *tracker, uint64_t time_ns, int32_t *ret_pid)
{
	size_t kept = 0, i;
	int r = 0;

	for (i = 0; r == 0 && i < tracker->rereads.count; i++) {
		int32_t pid = tracker->rereads.items[i];
		struct tracker_process *process = tracker_find_process(tracker, pid);

		if (!process || !process->crowded)
			continue;
		if (process->reread_ns > time_ns) {
			tracker->rereads.items[kept++] = pid;
			continue;
		}
		process->reread_ns =
			time_ns + (REREAD_NS << MIN(process->rereads, (uint32_t)REREAD_SHIFT_MAX));
		process->rereads++;
		r = tracker_forget_maps(tracker, process, false);
		*ret_pid = pid;
		if (r == 0)
			r = 1;
	}
	for (; i < tracker->rereads.count; i++)
		tracker->rereads.items[kept++] = tracker->rereads.items[i];
	tracker->rereads.count = kept;
	return r;
}

void tracker_end_reread(struct tracker *tracker, int32_t pid)
{
	struct tracker_process *process = tracker_find_process(tracker, pid);

	if (process)
		process->crowded = false;
}

/* Returns the bytes of modules that the process may add when the bounds of all are reached. */
static size_t tracker_sure_bytes(const struct tracker *tracker,
				 const struct tracker_process *process)
{
	size_t share =
		MODULES_SURE_BYTES / (tracker->processes.count - tracker->free_processes.count);

	return share - MIN(share, process->maps->own_bytes);
}

/* The process pays for a module that is new, even if the mapping is left out then. */
static int tracker_add_mapping(struct tracker *tracker, struct tracker_process *process,
			       const struct perf_record *record, struct mapping *mapping)
{
	size_t before = modules_bytes(&tracker->modules);
	int r = modules_add_mapped(&tracker->modules, record, tracker_sure_bytes(tracker, process),
				   mapping);

	if (r == 0)
		r = maps_insert(&process->maps, mapping);
	process->maps->own_bytes += modules_bytes(&tracker->modules) - before;
	return r;
}

static int tracker_apply_mmap(struct tracker *tracker, const struct perf_record *record)
{
	struct mapping mapping = {
		.start = record->mmap.start,
		.end = record->mmap.start + record->mmap.size,
		.offset = record->mmap.offset,
	};
	struct tracker_process *process;
	int r;

	if (mapping.end < mapping.start)
		return 0;
	if ((record->misc & PERF_MODE_MASK) != PERF_MODE_USER)
		return tracker_apply_kernel_mmap(tracker, record, &mapping);
	r = tracker_get_process(tracker, record->mmap.pid, &process);
	if (r < 0)
		return r;
	r = tracker_add_mapping(tracker, process, record, &mapping);
	return r == -ENOSPC ? tracker_note_crowded(tracker, process) : r;
}

int tracker_add_kernel(struct tracker *tracker, uint64_t start, uint64_t end, const char *name,
		       const uint8_t *build_id, size_t build_id_size)
{
	struct tape_module module = { .kind = TAPE_MODULE_KERNEL };
	struct mapping mapping = { .start = start, .end = end, .offset = start };
	int r;

	if (build_id_size && build_id_size <= sizeof(module.build_id)) {
		module.build_id_size = build_id_size;
		memcpy(module.build_id, build_id, build_id_size);
	}
	r = modules_add(&tracker->modules, &module, name, &mapping.module);
	if (r < 0)
		return r;
	r = maps_insert(&tracker->kernel, &mapping);
	return r == -ENOSPC ? cgroup_counts_add(&tracker->refused, "", 1) : r;
}

/*
 * Adds or removes a BPF program. The memory of a removed program belongs to the kernel again, but
 * does not have names, so leave it unmapped.
 */
static int tracker_apply_ksymbol(struct tracker *tracker, const struct perf_record *record)
{
	uint64_t start = record->ksymbol.start, end = start + record->ksymbol.size;

	if (end < start)
		return 0;
	if (record->ksymbol.removed)
		return maps_remove(&tracker->kernel, start, end) == -ENOMEM ? -ENOMEM : 0;
	return tracker_add_kernel(tracker, start, end, record->ksymbol.name, NULL, 0);
}

int tracker_apply(struct tracker *tracker, const struct perf_record *record)
{
	switch (record->type) {
	case PERF_TYPE_COMM:
		return tracker_apply_comm(tracker, record);
	case PERF_TYPE_FORK:
		return tracker_apply_fork(tracker, record);
	case PERF_TYPE_EXIT:
		tracker_apply_exit(tracker, record);
		return 0;
	case PERF_TYPE_MMAP:
	case PERF_TYPE_MMAP2:
		return tracker_apply_mmap(tracker, record);
	case PERF_TYPE_KSYMBOL:
		return tracker_apply_ksymbol(tracker, record);
	case PERF_TYPE_CGROUP:
		if (mutated("forget-cgroup"))
			return 0;
		return cgroup_ids_add(&tracker->cgroup_ids, record->cgroup.id, record->cgroup.path);
	default:
		return 0;
	}
}

const char *tracker_comm(struct tracker *tracker, int32_t pid, int32_t tid)
{
	const struct tracker_thread *thread = tracker_find_thread(tracker, tid);

	if (tid == 0)
		return "swapper";
	if (!thread || !thread->comm)
		thread = tracker_find_thread(tracker, pid);
	if (thread && thread->comm)
		return strings_at(&tracker->strings, thread->comm);
	snprintf(tracker->unnamed, sizeof(tracker->unnamed), ":%d", tid);
	return tracker->unnamed;
}

struct tracker_thread *tracker_thread(struct tracker *tracker, int32_t tid)
{
	return tracker_find_thread(tracker, tid);
}

struct tracker_process *tracker_process(struct tracker *tracker, int32_t pid)
{
	return tracker_find_process(tracker, pid);
}

void tracker_process_finish_exec(struct tracker_process *process)
{
	process->before = maps_unref(process->before);
}

const struct mapping *tracker_find(struct tracker *tracker, int32_t pid, bool kernel,
				   uint64_t address)
{
	const struct tracker_process *process;

	if (kernel)
		return maps_find(tracker->kernel, address);
	process = tracker_find_process(tracker, pid);
	return process ? maps_find(process->maps, address) : NULL;
}

void tracker_scan_begin(struct tracker *tracker)
{
	tracker->scans++;
	tracker->scan_truncated = false;
}

void tracker_scan_mark(struct tracker *tracker, int32_t pid, int32_t tid)
{
	struct tracker_process *process = tracker_find_process(tracker, pid);
	struct tracker_thread *thread = tracker_find_thread(tracker, tid);

	if (process)
		process->scanned = tracker->scans;
	if (thread)
		thread->scanned = tracker->scans;
}

void tracker_scan_end(struct tracker *tracker, uint64_t time_ns)
{
	for (size_t i = 0; i < tracker->threads.count; i++) {
		struct tracker_thread *thread = &tracker->threads.items[i];

		if (thread->used && !thread->exited_ns && thread->scanned != tracker->scans)
			thread->exited_ns = time_ns;
	}
	for (size_t i = 0; i < tracker->processes.count; i++) {
		struct tracker_process *process = &tracker->processes.items[i];

		if (process->used && !process->exited_ns && process->scanned != tracker->scans)
			process->exited_ns = time_ns;
	}
}

/*
 * Forgets processes that ended before before_ns. Keeps a process that still has a thread, because a
 * process ends with its last thread.
 */
static void tracker_sweep_processes(struct tracker *tracker, uint64_t before_ns)
{
	for (size_t i = 0; i < tracker->threads.count; i++) {
		const struct tracker_thread *thread = &tracker->threads.items[i];
		struct tracker_process *process;

		if (!thread->used)
			continue;
		process = tracker_find_process(tracker, thread->pid);
		if (process && process->exited_ns && process->exited_ns < before_ns)
			process->exited_ns = before_ns;
	}
	for (size_t i = 0; i < tracker->processes.count; i++) {
		struct tracker_process *process = &tracker->processes.items[i];

		if (!process->used || !process->exited_ns || process->exited_ns >= before_ns ||
		    array_push(&tracker->free_processes, i) < 0)
			continue;
		table_remove(&tracker->process_table, tracker_hash_id(process->pid), i);
		maps_unref(process->maps);
		maps_unref(process->before);
		free(process->cgroup);
		*process = (struct tracker_process){ 0 };
	}
}

void tracker_sweep(struct tracker *tracker, uint64_t before_ns)
{
	for (size_t i = 0; i < tracker->threads.count; i++) {
		struct tracker_thread *thread = &tracker->threads.items[i];

		if (!thread->used || !thread->exited_ns || thread->exited_ns >= before_ns ||
		    array_push(&tracker->free_threads, i) < 0)
			continue;
		table_remove(&tracker->thread_table, tracker_hash_id(thread->tid), i);
		*thread = (struct tracker_thread){ 0 };
	}
	tracker_sweep_processes(tracker, before_ns);
	tracker_forget_unused(tracker);
}
