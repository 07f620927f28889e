// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/proc-scan.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "naming/proc-maps.h"
#include "recorder/procs/proc-reader.h"
#include "symbolizer/elf.h"

/* 65,530 mappings, the most that the kernel usually allows, with paths of 150 bytes. */
#define MAPS_LIMIT (16u << 20)

int proc_scan_maps(struct tracker *tracker, int32_t pid)
{
	_cleanup_free_ char *text = NULL;
	struct proc_map map;
	char path[64], *rest;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	r = proc_reader_read_maps(tracker->reader, path, MAPS_LIMIT, &text);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	rest = text;
	while (r == 0 && proc_maps_next(&rest, &map)) {
		struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

		if (!map.executable)
			continue;
		record.mmap.pid = record.mmap.tid = pid;
		record.mmap.start = map.start;
		record.mmap.size = map.end - map.start;
		record.mmap.offset = map.offset;
		record.mmap.device = map.device;
		record.mmap.inode = map.inode;
		record.mmap.path = map.path;
		r = tracker_apply(tracker, &record);
	}
	return r;
}

/*
 * Notes an error that does not mean that the process has ended or is hidden: we lack descriptors or
 * memory to read it.
 */
static void proc_scan_note_truncated(struct tracker *tracker, int r)
{
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		tracker->scan_truncated = true;
}

static int proc_scan_thread(struct tracker *tracker, int32_t pid, int32_t tid)
{
	struct perf_record record = { .type = PERF_TYPE_COMM };
	_cleanup_free_ char *comm = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	r = file_read(path, 4096, &comm, NULL);
	if (r < 0) {
		proc_scan_note_truncated(tracker, r);
		return 0;
	}
	comm[strcspn(comm, "\n")] = 0;
	/* /proc appends the present work item to a worker's name. */
	if (strncmp(comm, "kworker/", 8) == 0)
		comm[strcspn(comm, "+-")] = 0;
	record.comm.pid = pid;
	record.comm.tid = tid;
	record.comm.comm = comm;
	r = tracker_apply(tracker, &record);
	tracker_scan_mark(tracker, pid, tid);
	return r;
}

/* Returns the name of the next entry of the folder whose name is a number; 0: at the end. */
static int32_t proc_scan_next_number(DIR *folder)
{
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);

		if (!*end && number > 0 && number <= INT32_MAX)
			return number;
	}
	return 0;
}

static DIR *proc_scan_open_folder(struct tracker *tracker, const char *path)
{
	DIR *folder = opendir(path);

	if (!folder)
		proc_scan_note_truncated(tracker, -errno);
	return folder;
}

static DIR *proc_scan_close_folder(DIR *folder)
{
	if (folder)
		closedir(folder);
	return NULL;
}

static int proc_scan_process(struct tracker *tracker, int32_t pid)
{
	struct tracker_process *process;
	int r = proc_scan_maps(tracker, pid);

	/*
	 * Read the cgroup of the process now. Later children inherit this cgroup, even if they end
	 * before their own /proc can be read.
	 */
	process = tracker_process(tracker, pid);
	if (process)
		tracker_cgroup(tracker, process, 0, 0);
	return r;
}

struct kernel_module {
	uint64_t start;
	uint64_t size;
	char name[80];
};

static int proc_scan_compare_starts(const void *a, const void *b)
{
	const struct kernel_module *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Adds the modules, sorted by address. The size of a module includes parts at other addresses, so
 * cut it off where the next module starts.
 */
static int proc_scan_add_modules(struct tracker *tracker, struct kernel_module *modules,
				 size_t count)
{
	int r = 0;

	if (count)
		qsort(modules, count, sizeof(*modules), proc_scan_compare_starts);
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint64_t end = modules[i].start + modules[i].size;

		if (i + 1 < count)
			end = MIN(end, modules[i + 1].start);
		r = tracker_add_kernel(tracker, modules[i].start, end, modules[i].name, NULL, 0);
	}
	return r;
}

/* Reads /proc/modules, with lines such as "ext4 1146880 1 - Live 0xffffffffc0a2d000". */
static int proc_scan_modules(struct tracker *tracker)
{
	_cleanup_array_ array_of(struct kernel_module) modules = { 0 };
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	int r = 0;

	if (file_read("/proc/modules", 4 << 20, &text, NULL) < 0)
		return 0; /* this kernel does not support modules */
	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		struct kernel_module module;
		char name[64];

		if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &module.size,
			   &module.start) < 3 ||
		    !module.start)
			continue;
		snprintf(module.name, sizeof(module.name), "[%s]", name);
		r = array_push(&modules, module);
	}
	return r < 0 ? r : proc_scan_add_modules(tracker, modules.items, modules.count);
}

int proc_scan_kernel(struct tracker *tracker)
{
	_cleanup_free_ char *notes = NULL;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t size, build_id_size = 0;
	int r;

	if (file_read("/sys/kernel/notes", 1 << 20, &notes, &size) < 0 ||
	    elf_notes_build_id(notes, size, build_id, &build_id_size) <= 0)
		build_id_size = 0;
	/*
	 * Map the upper half of the address space to the kernel; modules then replace their parts.
	 */
	r = tracker_add_kernel(tracker, 1ull << 63, UINT64_MAX, "[kernel.kallsyms]", build_id,
			       build_id_size);
	if (r < 0)
		return r;
	return proc_scan_modules(tracker);
}

/*
 * Returns whether the scan saw all processes. Otherwise, a process that the scan did not see may
 * still run. A scan misses processes if we ran out of descriptors or memory. It also misses them if
 * /proc hides those of other users, which include process 1.
 */
static bool proc_scan_saw_all(struct tracker *tracker)
{
	const struct tracker_process *first = tracker_process(tracker, 1);

	return !tracker->scan_truncated && first && first->scanned == tracker->scans;
}

void proc_walk_done(struct proc_walk *walk)
{
	walk->folder = proc_scan_close_folder(walk->folder);
	walk->tasks = proc_scan_close_folder(walk->tasks);
}

/* Reads one thread, or the maps of a process, or opens the next process. Returns 0 at the end. */
static int proc_walk_step(struct proc_walk *walk, struct tracker *tracker)
{
	int32_t number = proc_scan_next_number(walk->tasks ? walk->tasks : walk->folder);
	char path[64];
	int r;

	if (walk->tasks && number) {
		r = proc_scan_thread(tracker, walk->pid, number);
		return r < 0 ? r : 1;
	}
	if (walk->tasks) {
		walk->tasks = proc_scan_close_folder(walk->tasks);
		r = proc_scan_process(tracker, walk->pid);
		return r < 0 ? r : 1;
	}
	walk->pid = number;
	snprintf(path, sizeof(path), "/proc/%d/task", number);
	if (number)
		walk->tasks = proc_scan_open_folder(tracker, path);
	return number != 0;
}

int proc_walk_run(struct proc_walk *walk, struct tracker *tracker, uint64_t time_ns,
		  uint64_t until_ns)
{
	int r;

	if (!walk->folder) {
		tracker_scan_begin(tracker);
		walk->time_ns = MAX(time_ns, 1ull);
		walk->folder = proc_scan_open_folder(tracker, "/proc");
	}
	do
		r = proc_walk_step(walk, tracker);
	while (r == 1 && (until_ns == UINT64_MAX || clock_ns(CLOCK_MONOTONIC) < until_ns));
	if (r == 1)
		return r;
	proc_walk_done(walk);
	if (r != 0)
		return r;
	if (proc_scan_saw_all(tracker))
		tracker_scan_end(tracker, walk->time_ns);
	return 0;
}

int proc_scan_processes(struct tracker *tracker, uint64_t time_ns)
{
	struct proc_walk walk = { 0 };

	return proc_walk_run(&walk, tracker, time_ns, UINT64_MAX);
}

int proc_scan(struct tracker *tracker)
{
	int r = proc_scan_kernel(tracker);

	if (r < 0)
		return r;
	r = cgroup_ids_scan(&tracker->cgroup_ids, tracker->reader);
	if (r < 0)
		return r;
	return proc_scan_processes(tracker, 0);
}
