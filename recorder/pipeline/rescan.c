// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/pipeline/rescan.h"

#include "base/clock.h"
#include "recorder/procs/proc-scan.h"

/* With thousands of processes a look at all of /proc takes a good part of a second: where more and
 * more is lost, not more often than this. */
#define APART_NS (10 * NSEC_PER_SEC)

int rescan_look(struct rescan *rescan, struct pipeline *assembler)
{
	uint64_t lost = assembler->losses.counts.lost_sideband, now = clock_ns(CLOCK_MONOTONIC);

	if (!rescan->wanted && (lost == rescan->lost || now - rescan->asked_ns < APART_NS))
		return 0;
	*rescan = (struct rescan){ .lost = lost, .asked_ns = now };
	return proc_scan_processes(&assembler->tracker, pipeline_last_anchor(assembler)->perf_ns);
}
