// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/proc-scan.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "recorder/procs/proc-reader.h"
#include "symbolizer/elf.h"

#define MAPS_LIMIT (64u << 20)

/* "55d0-55d8 r-xp 00002000 08:01 1234   /usr/bin/x": 1 when the line is an executable mapping. */
static int parse_maps_line(char *line, struct perf_record *record)
{
	uint64_t start, end, offset, inode;
	unsigned int major, minor;
	char rights[8];
	int path_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &start,
		   &end, rights, &offset, &major, &minor, &inode, &path_at) < 7 ||
	    !path_at || rights[2] != 'x')
		return 0;
	record->mmap.start = start;
	record->mmap.size = end - start;
	record->mmap.offset = offset;
	record->mmap.device = makedev(major, minor);
	record->mmap.inode = inode;
	record->mmap.path = line + path_at;
	return 1;
}

static int scan_maps(struct tracker *tracker, int32_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *line, *rest;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	r = proc_reader_read(tracker->reader, path, MAPS_LIMIT, &text);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	rest = text;
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

		record.mmap.pid = record.mmap.tid = pid;
		if (!parse_maps_line(line, &record))
			continue;
		r = tracker_apply(tracker, &record);
	}
	return r;
}

/* It is not gone, or hidden from us: there is nothing left to look with. */
static void note_cut(struct tracker *tracker, int r)
{
	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		tracker->scan_truncated = true;
}

static int scan_thread(struct tracker *tracker, int32_t pid, int32_t tid)
{
	struct perf_record record = { .type = PERF_TYPE_COMM };
	_cleanup_free_ char *comm = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	r = file_read(path, 4096, &comm, NULL);
	if (r < 0) {
		note_cut(tracker, r);
		return 0;
	}
	comm[strcspn(comm, "\n")] = 0;
	/* /proc adds to a worker's name what it works on at this moment */
	if (strncmp(comm, "kworker/", 8) == 0)
		comm[strcspn(comm, "+-")] = 0;
	record.comm.pid = pid;
	record.comm.tid = tid;
	record.comm.comm = comm;
	r = tracker_apply(tracker, &record);
	tracker_scan_see(tracker, pid, tid);
	return r;
}

/* Calls `each` for every folder of `path` whose name is a number. */
static int for_each_number(const char *path,
			   int (*each)(struct tracker *tracker, int32_t pid, int32_t number),
			   struct tracker *tracker, int32_t pid)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);

		if (!*end && number > 0 && number <= INT32_MAX)
			r = each(tracker, pid, number);
	}
	if (dir)
		closedir(dir);
	else
		note_cut(tracker, -errno);
	return r;
}

static int scan_process(struct tracker *tracker, int32_t unused, int32_t pid)
{
	struct tracker_process *process;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	r = for_each_number(path, scan_thread, tracker, pid);
	if (r == 0)
		r = scan_maps(tracker, pid);
	/* those that it starts are in its cgroup, also when they end before they can be asked */
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

static int compare_starts(const void *a, const void *b)
{
	const struct kernel_module *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The size of a module is that of all its parts, wherever they lie: where the next one starts, it
 * ends. */
static int add_modules(struct tracker *tracker, struct kernel_module *modules, size_t count)
{
	int r = 0;

	if (count)
		qsort(modules, count, sizeof(*modules), compare_starts);
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint64_t end = modules[i].start + modules[i].size;

		if (i + 1 < count)
			end = MIN(end, modules[i + 1].start);
		r = tracker_add_kernel(tracker, modules[i].start, end, modules[i].name, NULL, 0);
	}
	return r;
}

/* "ext4 1146880 1 - Live 0xffffffffc0a2d000": the text of /proc/modules, a line each. */
static int scan_modules(struct tracker *tracker)
{
	array_of(struct kernel_module) modules = { 0 };
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	int r = 0;

	if (file_read("/proc/modules", 4 << 20, &text, NULL) < 0)
		return 0; /* a kernel without modules */
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
	if (r == 0)
		r = add_modules(tracker, modules.items, modules.count);
	array_done(&modules);
	return r;
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
	/* the upper half of the address space, in which the modules then take their places */
	r = tracker_add_kernel(tracker, 1ull << 63, UINT64_MAX, "[kernel.kallsyms]", build_id,
			       build_id_size);
	return r == 0 ? scan_modules(tracker) : r;
}

/* Where others' processes are hidden from us, the first one is, too: then nobody has ended. Nor
 * where we had no descriptor left to look with. */
static bool saw_all(struct tracker *tracker)
{
	const struct tracker_process *first = tracker_process(tracker, 1);

	return !tracker->scan_truncated && first && first->scanned == tracker->scans;
}

int proc_scan_processes(struct tracker *tracker, uint64_t time_ns)
{
	int r;

	tracker_scan_begin(tracker);
	r = for_each_number("/proc", scan_process, tracker, 0);
	if (r == 0 && saw_all(tracker))
		tracker_scan_end(tracker, MAX(time_ns, 1ull));
	return r;
}

int proc_scan(struct tracker *tracker)
{
	int r = proc_scan_kernel(tracker);

	if (r == 0)
		r = cgroup_ids_scan(&tracker->cgroup_ids, tracker->reader);
	return r == 0 ? proc_scan_processes(tracker, 0) : r;
}
