/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Knows which threads run under which name, with which mappings. It receives records in time order,
 * so for each sample it has the state at the sample's time.
 *
 *   - fork: a child process starts with its parent's mappings and name; a new thread starts with
 *     its parent's name.
 *   - exec (a COMM record with the exec flag) forgets the mappings, but not at once. Until the new
 *     program runs its first instruction, the thread's stack is still in the old program.
 *   - a new mapping replaces the parts of older mappings that it overlaps.
 *   - a reused pid starts afresh. A dead thread stays known until its tid is reused or until
 *     tracker_sweep(), because the kernel still samples a thread that exits.
 *   - a process is in the cgroup that its samples state. If they do not state a cgroup, or only the
 *     root, the process is in its parent's cgroup until the tracker reads /proc.
 *   - the tracker reads the cgroup from /proc after an exec (tracker_note_exec()), at the first
 *     sample, and when a sample states another cgroup. It reads the cgroup again after
 *     tracker_expire_cgroups(), because a process may change its cgroup while it runs.
 *   - a process that changes its cgroup and then executes a program counts as being in the new
 *     cgroup since its fork.
 *
 * The tracker's numbers of names and modules differ from those of a tape.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "recorder/procs/cgroup-counts.h"
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
	/* The name, as a string of the tracker; 0: unknown. */
	uint32_t comm;
	bool used;
	/* The end of the thread; 0: it runs. */
	uint64_t exited_ns;
	/* Number of the last scan that saw this thread. */
	uint64_t scanned;
	/*
	 * For the tape builder: one more than the number of the thread's row in the present tape.
	 * The row has this name and the cgroup `row_cgroup`. 0: the tape lacks such a row.
	 */
	uint32_t row;
	uint32_t row_cgroup;
};

struct tracker_process {
	int32_t pid;
	bool used;
	uint64_t exited_ns;
	uint64_t scanned;
	struct maps *maps;
	/* The mappings before the exec that is under way, or NULL. */
	struct maps *before;
	/* NULL: unknown. */
	char *cgroup;
	/* The cgroup may have changed. */
	bool cgroup_expired;
	/* `cgroup` was read at the exec of the process. */
	bool cgroup_from_exec;
	/* The process has not executed a program since its fork. */
	bool forked;
	/* The owner while the cgroup is unknown: that of the parent at the fork; 0: the process. */
	uint64_t ancestor;
	/* The cgroup id of the last sample of the process; 0: none. */
	uint64_t cgroup_id;
	/* Time of the last read of /proc for this program; 0: not read yet. */
	uint64_t cgroup_read_ns;
	/* For the tape builder: the string of `cgroup` in the present tape + 1; 0: none. */
	uint32_t cgroup_row;
	/* For the tape builder: the key of the cgroup's owner, if cgroup_row is not 0. */
	uint64_t cgroup_key;
	/*
	 * The tracker left mappings out, because the process has too many. The recorder reads the
	 * maps from /proc again after reread_ns, and waits longer after each read.
	 */
	bool crowded;
	uint32_t rereads;
	uint64_t reread_ns;
};

#define TRACKER_FOUND 64

struct tracker {
	struct strings strings;
	struct modules modules;
	array_of(struct tracker_thread) threads;
	array_of(struct tracker_process) processes;
	array_of(uint32_t) free_threads, free_processes;
	struct table thread_table, process_table;
	/* The row that was last found for each value of the low bits of a tid or pid. */
	uint32_t found_threads[TRACKER_FOUND], found_processes[TRACKER_FOUND];
	struct maps *kernel;
	struct maps_all maps;
	/* Refused records and mappings of processes that made too many. */
	struct cgroup_counts refused;
	/* The pids of processes whose maps the recorder must read again. */
	array_of(int32_t) rereads;
	/*
	 * Records of mappings were lost, and the scan that finds these mappings has not ended. So
	 * an address without a known mapping may have an unknown one.
	 */
	bool unsure;
	/* Number of walks over all maps. */
	uint64_t walks;
	/* Number of scans of /proc. */
	uint64_t scans;
	/* The present scan could not see all processes. */
	bool scan_truncated;
	/*
	 * The numbers of names and modules, and the size of their text, after unused ones were last
	 * forgotten.
	 */
	size_t kept_names, kept_modules, kept_text;
	/* Calls of tracker_forget_unused() while modules were refused. */
	unsigned int forget_calls;
	/* The last name that tracker_comm() made for a thread without a known name. */
	char unnamed[16];
	/*
	 * Reads the cgroup of a process from /proc. NULL for an import, whose processes do not run
	 * on this host now.
	 */
	int (*read_cgroup)(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX]);
	/* Borrowed. */
	struct proc_reader *reader;
	struct cgroup_ids cgroup_ids;
	struct exec_cgroups exec_cgroups;
	/* At least one sample stated a cgroup. */
	bool samples_have_cgroups;
};

/* Prepares an empty tracker. Returns 0 or -ENOMEM. Call tracker_done() also on failure. */
int tracker_init(struct tracker *tracker);
void tracker_done(struct tracker *tracker);

/*
 * Applies COMM, FORK, EXIT, MMAP, MMAP2, KSYMBOL and CGROUP records; other records change nothing.
 * Returns 0 or -ENOMEM.
 */
int tracker_apply(struct tracker *tracker, const struct perf_record *record);

/*
 * Reads the cgroups of new programs before their records are applied. tracker_note_exec() takes
 * FORK records and execs that the kernel has reported. tracker_read_exec_cgroups() reads /proc for
 * all new execs. tracker_forget_execs() forgets execs before before_ns; all records up to that time
 * must be applied.
 */
void tracker_note_exec(struct tracker *tracker, const struct perf_record *record);
void tracker_read_exec_cgroups(struct tracker *tracker);
void tracker_forget_execs(struct tracker *tracker, uint64_t before_ns);

/*
 * Returns the present name of a thread. If it is unknown, returns that of the process's first
 * thread, or else ":TID". The idle thread (tid 0) is "swapper". Valid until the next call that
 * changes the tracker.
 */
const char *tracker_comm(struct tracker *tracker, int32_t pid, int32_t tid);

/*
 * Returns a thread, or NULL if it is unknown. Valid until the next call that changes the tracker.
 */
struct tracker_thread *tracker_thread(struct tracker *tracker, int32_t tid);
/*
 * Returns a process, or NULL if it is unknown. The kernel's mappings are in tracker->kernel. Valid
 * until the next call that changes the tracker.
 */
struct tracker_process *tracker_process(struct tracker *tracker, int32_t pid);
/*
 * Returns the cgroup of a process, or "" if it is unknown. `id` is the cgroup that a sample at
 * time_ns states, or 0. Valid until the next call that changes the tracker.
 */
const char *tracker_cgroup(struct tracker *tracker, struct tracker_process *process, uint64_t id,
			   uint64_t time_ns);
/* The owner of all processes whose forks the tracker does not know. */
#define TRACKER_OWNER_UNKNOWN 2
/*
 * Returns a number for the owner of a process, which is the unit, user or container of its cgroup.
 * If its cgroup is unknown, the owner is that of the process that forked it, so that a process
 * cannot get another owner by forking. Also finds forks that tracker_note_exec() has noted and that
 * are not applied yet. Never returns 0.
 */
uint64_t tracker_owner(struct tracker *tracker, int32_t pid);
/* Marks the cgroups of all processes as possibly changed. */
void tracker_expire_cgroups(struct tracker *tracker);
/* Forgets the mappings before the exec, because the process now runs in its new mappings. */
void tracker_process_finish_exec(struct tracker_process *process);
/*
 * Returns the mapping at an address of the kernel or of a process, or NULL. Valid until the maps
 * change.
 */
const struct mapping *tracker_find(struct tracker *tracker, int32_t pid, bool kernel,
				   uint64_t address);

/* Adds a kernel module or another range of the kernel. Returns 0 or -ENOMEM. */
int tracker_add_kernel(struct tracker *tracker, uint64_t start, uint64_t end, const char *name,
		       const uint8_t *build_id, size_t build_id_size);

/*
 * A scan of all threads. The caller marks each running thread between begin and end. Unmarked
 * threads and processes count as ended at time_ns, because their EXIT records were lost.
 */
void tracker_scan_begin(struct tracker *tracker);
void tracker_scan_mark(struct tracker *tracker, int32_t pid, int32_t tid);
void tracker_scan_end(struct tracker *tracker, uint64_t time_ns);

/*
 * Forgets the threads and processes that ended before before_ns. Sometimes also forgets unused
 * names and modules, because a build farm runs a million processes per day. That changes the
 * numbers of the others.
 */
void tracker_sweep(struct tracker *tracker, uint64_t before_ns);
/* Forgets unused names and modules, if many new ones came since the last time. */
void tracker_forget_unused(struct tracker *tracker);

/* Counts refused records of a process. Returns 0 or -ENOMEM. */
int tracker_refuse(struct tracker *tracker, int32_t pid, uint64_t count);

/*
 * Takes the next process whose maps the caller must read from /proc, because mappings were left
 * out. Gives the process empty maps. Returns 1 with its pid, 0 if no process is due at time_ns, or
 * -ENOMEM.
 */
int tracker_next_reread(struct tracker *tracker, uint64_t time_ns, int32_t *ret_pid);
/* Ends a reread. If mappings were left out again during it, the process really has too many. */
void tracker_end_reread(struct tracker *tracker, int32_t pid);
