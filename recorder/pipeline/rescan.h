/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Rescans /proc after side-band records were lost, or after a CPU came online: no record shows
 * which processes ran there before its events were opened. Scans after the end of the loss. Records
 * that are applied later are newer than most of the scan, and repeat the rest.
 */

#include "recorder/pipeline/pipeline.h"

/* Zero it to start. */
struct rescan {
	/* A CPU came online since the last scan. */
	bool wanted;
	/* Lost side-band records at the last scan. */
	uint64_t lost;
	uint64_t scanned_ns;
};

/*
 * Rescans if it is necessary. Call it when all drained records are applied. Returns 0 or -ENOMEM.
 */
int rescan_run(struct rescan *rescan, struct pipeline *pipeline);
