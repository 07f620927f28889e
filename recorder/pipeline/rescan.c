// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/pipeline/rescan.h"

#include "base/clock.h"
#include "recorder/procs/proc-scan.h"

/*
 * With thousands of processes a scan of /proc takes a good part of a second. If losses go on, scan
 * at most this often.
 */
#define APART_NS (10 * NSEC_PER_SEC)

int rescan_run(struct rescan *rescan, struct pipeline *pipeline)
{
	uint64_t lost = pipeline->losses.counts.lost_sideband, now = clock_ns(CLOCK_MONOTONIC);

	if (!rescan->wanted && (lost == rescan->lost || now - rescan->scanned_ns < APART_NS))
		return 0;
	*rescan = (struct rescan){ .lost = lost, .scanned_ns = now };
	return proc_scan_processes(&pipeline->tracker, pipeline_last_anchor(pipeline)->perf_ns);
}
