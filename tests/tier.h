/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The tier in which a test runs. In ./test, a slow test runs a short form of itself. In ./test
 * --all, and when somebody starts it directly, it runs as a whole.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool tier_is_quick(void)
{
	const char *tier = getenv("PERFTAPE_TIER");

	return tier && strcmp(tier, "quick") == 0;
}

/* Returns the first number in ./test, the second everywhere else. */
static inline unsigned long tier_pick(unsigned long quick, unsigned long full)
{
	return tier_is_quick() ? quick : full;
}
