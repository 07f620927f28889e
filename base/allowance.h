/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Limits the rate of an action: one per interval, and a burst after a pause. */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct allowance {
	/* One more action is allowed after this time. */
	uint64_t interval_ns;
	/* The greatest number of actions at once. */
	uint64_t burst;
	/* All allowance up to this time is used. */
	uint64_t spent_ns;
};

/* Takes one action from the allowance. Returns false if none is left. */
static inline bool allowance_take(struct allowance *allowance, uint64_t now_ns)
{
	uint64_t burst_ns = allowance->burst * allowance->interval_ns;

	allowance->spent_ns = MAX(allowance->spent_ns, now_ns - MIN(now_ns, burst_ns));
	if (allowance->spent_ns + allowance->interval_ns > now_ns)
		return false;
	allowance->spent_ns += allowance->interval_ns;
	return true;
}
