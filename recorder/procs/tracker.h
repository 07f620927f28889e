/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Who ran, under which name, with what mapped where. Fed with records in time order, it answers for
 * a sample by what was true at the sample's time.
 *
 *   - fork: a child process starts with its parent's mappings and name, a new thread with its
 * parent's name;
 *   - exec (a COMM record that says so) forgets the mappings, but not at once: until the new
 * program runs its first instruction, the stack of the thread is still that of the call to exec, in
 * the old one;
 *   - a mapping takes the place of what it overlaps;
 *   - a pid that is used again starts afresh; what a dead thread was stays known until then, or
 * until tracker_sweep(): the kernel still samples a thread on its way out;
 *   - a process is in the cgroup that its samples name. Where they name none, or one that says
 * nothing, it is in that of its parent until /proc is asked: at an exec, as soon as it is known
 * (tracker_started()), when it is sampled for the first time, when they name another one, again
 * after an exec, and again after tracker_doubt_cgroups(), for those that are moved while they run.
 * Who moves itself, or is moved, and then executes a program was moved before that: from its fork
 * on it counts as being where it was at the exec.
 *
 * Names are numbered here; a tape has numbers of its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "recorder/procs/cgroup-ids.h"
#include "recorder/procs/exec-cgroups.h"
#include "recorder/procs/cgroup.h"
#include "recorder/procs/maps.h"
#include "recorder/procs/modules.h"
#include "recorder/perf/perf-record.h"
#include "tape/tape.h"

struct tracker_thread {
	int32_t pid;
	int32_t tid;
	/* a string of the tracker; 0 while no name is known */
	uint32_t comm;
	bool used;
	/* 0 while it runs */
	uint64_t exited_ns;
	/* by the last look that saw it */
	uint64_t scanned;
	/* the filler's: its row in the tape at hand + 1, under this name and in that cgroup; 0:
	 * none */
	uint32_t row;
	uint32_t row_cgroup;
};

struct tracker_process {
	int32_t pid;
	bool used;
	uint64_t exited_ns;
	uint64_t scanned;
	struct maps *maps;
	/* those before the exec that is under way, or NULL */
	struct maps *before;
	/* NULL: not known */
	char *cgroup;
	/* it may have another by now */
	bool cgroup_old;
	/* it is known where it was at its exec */
	bool cgroup_started;
	/* and no program executed since */
	bool forked;
	/* that its last sample named, 0: none did */
	uint64_t cgroup_id;
	/* when /proc was asked for it, 0: since it is this program it was not */
	uint64_t cgroup_asked_ns;
	/* the filler's: its string in the tape at hand + 1, or 0 */
	uint32_t cgroup_row;
};

#define TRACKER_FOUND 64

struct tracker {
	struct strings strings;
	struct modules modules;
	array_of(struct tracker_thread) threads;
	array_of(struct tracker_process) processes;
	array_of(uint32_t) free_threads, free_processes;
	struct table thread_table, process_table;
	/* where one was found last, by the low bits of its number */
	uint32_t found_threads[TRACKER_FOUND], found_processes[TRACKER_FOUND];
	struct maps *kernel;
	/* of maps */
	uint64_t next_version;
	/* over all maps */
	uint64_t walks;
	/* of /proc */
	uint64_t scans;
	/* the one at hand could not see everybody */
	bool scan_truncated;
	/* that were in use when the others were forgotten last */
	size_t kept_names, kept_modules;
	/* what tracker_comm() made up last */
	char unnamed[16];
	/* Reads the cgroup of a process of this host. NULL: the processes are of another time or
	 * place. */
	int (*read_cgroup)(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX]);
	/* borrowed */
	struct proc_reader *reader;
	struct cgroup_ids cgroup_ids;
	struct exec_cgroups cgroup_starts;
	/* cgroups: one did */
	bool samples_name;
};

int tracker_init(struct tracker *tracker);
void tracker_done(struct tracker *tracker);

/* Applies COMM, FORK, EXIT, MMAP, MMAP2, KSYMBOL and CGROUP; other records change nothing. 0 or
 * -ENOMEM. */
int tracker_apply(struct tracker *tracker, const struct perf_record *record);

/*
 * An exec of which the kernel has told, and whose turn to be applied comes later:
 * tracker_ask_started() asks /proc of all of them. What is known of those before a moment, which
 * all have been applied, is forgotten by tracker_forget_started().
 */
void tracker_started(struct tracker *tracker, const struct perf_record *record);
void tracker_ask_started(struct tracker *tracker);
void tracker_forget_started(struct tracker *tracker, uint64_t before_ns);

/*
 * The name of a thread at this moment: its own, or that of its process's first thread, or ":TID".
 * The idle thread (tid 0) is "swapper". Borrowed until the next call that changes the tracker.
 */
const char *tracker_comm(struct tracker *tracker, int32_t pid, int32_t tid);

/* What is known of a thread, or NULL. Valid until the next call that changes the tracker. */
struct tracker_thread *tracker_thread(struct tracker *tracker, int32_t tid);
/* What is known of a process, or NULL; the kernel's mappings are tracker->kernel. Valid until the
 * next call that changes it. */
struct tracker_process *tracker_process(struct tracker *tracker, int32_t pid);
/*
 * The cgroup of a process of which a sample at that moment names one, or 0; "" when it is not
 * known. Borrowed until the next call that changes the tracker.
 */
const char *tracker_cgroup(struct tracker *tracker, struct tracker_process *process, uint64_t id,
			   uint64_t time_ns);
/* Any process may have been moved by now. */
void tracker_doubt_cgroups(struct tracker *tracker);
/* The process was seen to run in its new mappings: those before its exec are of no more use. */
void tracker_process_settled(struct tracker_process *process);
/* The mapping at an address of the kernel or of a process, or NULL. */
const struct mapping *tracker_find(struct tracker *tracker, int32_t pid, bool kernel,
				   uint64_t address);

/* A kernel module or other kernel range. */
int tracker_add_kernel(struct tracker *tracker, uint64_t start, uint64_t end, const char *name,
		       const uint8_t *build_id, size_t build_id_size);

/*
 * A look at all that runs: those that were there before it and are not seen between begin and end
 * have ended, at that moment at the latest. Their own record of that was lost.
 */
void tracker_scan_begin(struct tracker *tracker);
void tracker_scan_see(struct tracker *tracker, int32_t pid, int32_t tid);
void tracker_scan_end(struct tracker *tracker, uint64_t time_ns);

/*
 * Forgets the threads and processes that ended before a moment, and at times the names and modules
 * that then nobody uses, which changes the numbers of the others: a farm that compiles sees a
 * million of them in a day.
 */
void tracker_sweep(struct tracker *tracker, uint64_t before_ns);
