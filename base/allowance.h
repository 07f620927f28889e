/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Something that may be done so often in a second, and so many times at once after a while without.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct allowance {
	/* one more is allowed after so long */
	uint64_t each_ns;
	uint64_t at_once;
	/* all until then */
	uint64_t spent_ns;
};

/* Takes one, if it is there. */
static inline bool allowance_take(struct allowance *allowance, uint64_t now_ns)
{
	uint64_t kept_ns = allowance->at_once * allowance->each_ns;

	allowance->spent_ns = MAX(allowance->spent_ns, now_ns - MIN(now_ns, kept_ns));
	if (allowance->spent_ns + allowance->each_ns > now_ns)
		return false;
	allowance->spent_ns += allowance->each_ns;
	return true;
}
