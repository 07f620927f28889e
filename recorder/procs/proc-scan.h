/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <dirent.h>

#include "base/error.h"
#include "recorder/procs/tracker.h"

/*
 * Reads the present state of the host: names of all threads, executable mappings of all processes,
 * and the kernel's modules. Open the events first, so that later changes come as records. Leaves
 * out processes that end meanwhile, that this process may not read, or that take too long (the
 * tracker has a proc reader). Returns 0 or -ENOMEM.
 */
int proc_scan(struct tracker *tracker);
/*
 * Reads only the processes, after side-band records were lost. The result replaces the tracker's
 * state. Processes that do not exist any more count as ended at time_ns. Returns 0 or -ENOMEM.
 */
int proc_scan_processes(struct tracker *tracker, uint64_t time_ns);

/* The same scan in parts, because users can make any number of threads and mappings. */
struct proc_walk {
	/* /proc; NULL: no walk is under way. */
	DIR *folder;
	/* The threads of the present process, or NULL. */
	DIR *tasks;
	int32_t pid;
	uint64_t time_ns;
};

/*
 * Begins or continues a walk: does at least one step, and further steps until until_ns
 * (CLOCK_MONOTONIC). A walk uses the `time_ns` of the call that began it. Returns 1 if the walk is
 * not finished, 0 if it is, or -ENOMEM.
 */
int proc_walk_run(struct proc_walk *walk, struct tracker *tracker, uint64_t time_ns,
		  uint64_t until_ns);
void proc_walk_done(struct proc_walk *walk);

/*
 * Reads the executable mappings of one process. Ignores a process whose mappings cannot be read.
 * Returns 0 or -ENOMEM.
 */
int proc_scan_maps(struct tracker *tracker, int32_t pid);

/*
 * Reads only the address ranges of the kernel and its modules, and the build-id of the kernel.
 * Returns 0 or -ENOMEM.
 */
int proc_scan_kernel(struct tracker *tracker);
