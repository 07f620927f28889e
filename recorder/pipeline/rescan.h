/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Rescans /proc after side-band records were lost. Also after a CPU came online: no record shows
 * which processes ran there before its events were opened. The scan begins after the loss. Records
 * that are applied later are newer than most of the scan, and repeat the rest.
 *
 * Also rereads the maps of processes that have too many mappings. Users can make any number of
 * processes, threads and mappings, so each turn does only a part of the work.
 */

#include "recorder/pipeline/pipeline.h"
#include "recorder/procs/proc-scan.h"

/* Zero it to start. */
struct rescan {
	/* A CPU came online since the last scan. */
	bool wanted;
	/* Lost side-band records at the last scan. */
	uint64_t lost;
	uint64_t scanned_ns;
	struct proc_walk walk;
};

void rescan_done(struct rescan *rescan);

/*
 * Rescans if it is necessary. Call it once per turn, when all drained records are applied. Returns
 * 0 or -ENOMEM.
 */
int rescan_run(struct rescan *rescan, struct pipeline *pipeline);
