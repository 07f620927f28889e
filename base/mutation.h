/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Faults that the test build contains on purpose. A live test names a fault that it
 * detects. `./test --long` sets the environment variable PERFTAPE_MUTATION to that name, runs the
 * test, and requires it to fail.
 *
 *   if (mutated("forget-loss"))
 *           return 0;
 *
 * In every other build mutated() is false and the compiler removes the fault.
 *
 * A test can also shorten a wait of the product, because a test must not take half a minute:
 *
 *   uint64_t patience_ns = tuned_ns("PERFTAPE_SHUTDOWN_MS", 30 * NSEC_PER_SEC);
 */

#include <stdbool.h>
#include <stdint.h>

#ifdef PERFTAPE_MUTATIONS
#include <stdlib.h>
#include <string.h>

static inline bool mutated(const char *name)
{
	const char *wanted = getenv("PERFTAPE_MUTATION");

	return wanted && strcmp(wanted, name) == 0;
}

/*
 * Returns the time that the environment variable `name` gives in milliseconds, or the usual time if
 * the variable is not set.
 */
static inline uint64_t tuned_ns(const char *name, uint64_t usual_ns)
{
	const char *ms = getenv(name);

	return ms ? strtoull(ms, NULL, 10) * 1000000 : usual_ns;
}
#else
#define mutated(name) ((void)sizeof(name), false)
#define tuned_ns(name, usual_ns) ((void)sizeof(name), (uint64_t)(usual_ns))
#endif
