/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Faults that the test build contains on purpose. A live test shows that it can fail: `./test
 * --long` runs it with the environment variable PERFTAPE_MUTATION set to the name of the fault that
 * it watches for, and requires the test to fail.
 *
 *   if (mutated("forget-loss"))
 *           return 0;
 *
 * In every other build mutated() is false and the compiler removes the fault.
 */

#include <stdbool.h>

#ifdef PERFTAPE_MUTATIONS
#include <stdlib.h>
#include <string.h>

static inline bool mutated(const char *name)
{
	const char *wanted = getenv("PERFTAPE_MUTATION");

	return wanted && strcmp(wanted, name) == 0;
}
#else
#define mutated(name) ((void)sizeof(name), false)
#endif
