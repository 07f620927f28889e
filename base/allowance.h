/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Limits the rate of an action: one per interval, and several in quick succession after a pause. */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct allowance {
	/* Each interval allows one more action. */
	uint64_t interval_ns;
	/* The greatest number of actions in quick succession. */
	uint64_t burst;
	/* The actions so far have used the intervals up to this time. */
	uint64_t spent_ns;
};

/* Returns true if one more action is allowed, and counts it. Returns false otherwise. */
static inline bool allowance_take(struct allowance *allowance, uint64_t now_ns)
{
	uint64_t burst_ns = allowance->burst * allowance->interval_ns;

	allowance->spent_ns = MAX(allowance->spent_ns, now_ns - MIN(now_ns, burst_ns));
	if (allowance->spent_ns + allowance->interval_ns > now_ns)
		return false;
	allowance->spent_ns += allowance->interval_ns;
	return true;
}
