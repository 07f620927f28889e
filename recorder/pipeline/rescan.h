/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Asks /proc who runs where records of that were lost, or where a CPU came: what ran there before
 * its events were opened is in none. It is asked at the end of what was lost and not before: those
 * that are applied later are newer than most of it, and tell the same again of the rest.
 */

#include "recorder/pipeline/pipeline.h"

/* Zeroed to start. */
struct rescan {
	/* a CPU came since the last time */
	bool wanted;
	/* records of the sideband, by the last time */
	uint64_t lost;
	uint64_t asked_ns;
};

/* After all that is there was applied. 0 or -ENOMEM. */
int rescan_look(struct rescan *rescan, struct pipeline *assembler);
