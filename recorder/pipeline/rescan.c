// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/pipeline/rescan.h"

#include "base/clock.h"

/* If records are lost again and again, leave at least this time between two scans. */
#define APART_NS (10 * NSEC_PER_SEC)

/*
 * Times that a turn may spend, once per second. On a usual host, a scan of all processes takes
 * less; with thousands of threads, it takes several turns. Processes with too many mappings can use
 * up the time for their maps, so the scan, which finds what all others mapped, has its own.
 */
#define MAPS_NS (8 * NSEC_PER_MSEC)
#define SCAN_NS (12 * NSEC_PER_MSEC)

void rescan_done(struct rescan *rescan)
{
	proc_walk_done(&rescan->walk);
}

static int rescan_maps(struct tracker *tracker, uint64_t time_ns, uint64_t until_ns)
{
	int32_t pid;
	int r = 0;

	while (r >= 0 && clock_ns(CLOCK_MONOTONIC) < until_ns) {
		r = tracker_next_reread(tracker, time_ns, &pid);
		if (r <= 0)
			return r;
		r = proc_scan_maps(tracker, pid);
		tracker_end_reread(tracker, pid);
	}
	return MIN(r, 0);
}

static int rescan_processes(struct rescan *rescan, struct pipeline *pipeline)
{
	uint64_t lost = pipeline->losses.counts.lost_sideband, now = clock_ns(CLOCK_MONOTONIC);
	uint64_t time_ns = pipeline_last_anchor(pipeline)->perf_ns;
	int r = rescan_maps(&pipeline->tracker, time_ns, now + MAPS_NS);

	if (r < 0)
		return r;
	if (!rescan->walk.folder) {
		if (!rescan->wanted &&
		    (lost == rescan->lost || now - rescan->scanned_ns < APART_NS))
			return 0;
		rescan->wanted = false;
		rescan->lost = lost;
	}
	rescan->scanned_ns = now;
	return MIN(proc_walk_run(&rescan->walk, &pipeline->tracker, time_ns,
				 clock_ns(CLOCK_MONOTONIC) + SCAN_NS),
		   0);
}

int rescan_run(struct rescan *rescan, struct pipeline *pipeline)
{
	int r = rescan_processes(rescan, pipeline);

	pipeline->tracker.unsure =
		rescan->walk.folder || rescan->lost != pipeline->losses.counts.lost_sideband;
	return r;
}
