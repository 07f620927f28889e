/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Something that may be done so often in a second, and so many times at once after a while without.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct allowance {
	/* one more is allowed after so long */
	uint64_t interval_ns;
	uint64_t burst;
	/* all until then */
	uint64_t spent_ns;
};

/* Takes one, if it is there. */
static inline bool allowance_take(struct allowance *allowance, uint64_t now_ns)
{
	uint64_t burst_ns = allowance->burst * allowance->interval_ns;

	allowance->spent_ns = MAX(allowance->spent_ns, now_ns - MIN(now_ns, burst_ns));
	if (allowance->spent_ns + allowance->interval_ns > now_ns)
		return false;
	allowance->spent_ns += allowance->interval_ns;
	return true;
}
