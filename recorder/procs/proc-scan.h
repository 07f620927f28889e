/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <dirent.h>

#include "base/error.h"
#include "recorder/procs/tracker.h"

/*
 * Reads what exists already: names of all threads, executable mappings of all processes, and the
 * kernel's modules. Open the events first: later changes then come as records, and are applied on
 * top. Leaves out processes that end meanwhile, that may not be read, or that take too long (the
 * tracker has a proc reader). Returns 0 or -ENOMEM.
 */
int proc_scan(struct tracker *tracker);
/*
 * Reads the processes only, after records of them were lost. The result replaces what the tracker
 * knew. Processes that do not exist any more ended at time_ns. Returns 0 or -ENOMEM.
 */
int proc_scan_processes(struct tracker *tracker, uint64_t time_ns);

/* The same scan in parts, because users decide how many threads and mappings there are. */
struct proc_walk {
	/* /proc; NULL: no walk is under way. */
	DIR *folder;
	/* The threads of the present process, or NULL. */
	DIR *tasks;
	int32_t pid;
	uint64_t time_ns;
};

/*
 * Begins or continues a walk: one step, and more until a time of CLOCK_MONOTONIC. `time_ns` counts
 * for a walk that begins. Returns 1 if the walk is not finished, 0 if it is, or -ENOMEM.
 */
int proc_walk_run(struct proc_walk *walk, struct tracker *tracker, uint64_t time_ns,
		  uint64_t until_ns);
void proc_walk_done(struct proc_walk *walk);

/* Reads the executable mappings of one process, if they can be read. Returns 0 or -ENOMEM. */
int proc_scan_maps(struct tracker *tracker, int32_t pid);

/*
 * Reads the address ranges and the build-id of the kernel and its modules only. Returns 0 or
 * -ENOMEM.
 */
int proc_scan_kernel(struct tracker *tracker);
