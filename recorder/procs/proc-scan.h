/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

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

/*
 * Reads the address ranges and the build-id of the kernel and its modules only. Returns 0 or
 * -ENOMEM.
 */
int proc_scan_kernel(struct tracker *tracker);
