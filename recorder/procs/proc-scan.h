/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "base/error.h"
#include "recorder/procs/tracker.h"

/*
 * What was running before the events were opened: names of all threads and executable mappings of
 * all processes, out of /proc, and the kernel's modules. Open the events first: what happens
 * meanwhile comes as records and is applied on top. Processes that go away while they are read, may
 * not be read, or take too long (recorder/procs/proc-reader.h; the tracker has one), are left out.
 * 0 or -ENOMEM.
 */
int proc_scan(struct tracker *tracker);
/*
 * Only the processes: what is known of them takes the place of what was, where records of them were
 * lost. Those that are not there any more have ended at that moment.
 */
int proc_scan_processes(struct tracker *tracker, uint64_t time_ns);

/* The ranges and build-id of the kernel and its modules alone. */
int proc_scan_kernel(struct tracker *tracker);
