/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Limits the work that the bytes of a foreign file can cause. Whoever reads such a file counts in
 * units of about 10 ns of CPU time. A window (symbolizer/file-window.h) spends units for each read
 * and then behaves as if the file ended, so every loop that reads on ends too. A loop that does
 * more than one step for each read spends units itself.
 *
 * The base is several times what the largest known files need: to search ten million symbols takes
 * 30 million units. Honest work also grows with the number of addresses to name, so each adds its
 * share.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORK_BASE (1ull << 26)
#define WORK_PER_ADDRESS 2048
/* For the code that a process generated: two million lines. A tape reads them anew. */
#define WORK_JIT (1ull << 24)
/* For small tables: a build-id, the name of a debug file. */
#define WORK_SMALL (1ull << 20)

struct work_limit {
	uint64_t left;
	bool spent;
	/* A read had no memory, so bytes are missing. */
	bool starved;
};

static inline struct work_limit work_limit_of(uint64_t units)
{
	return (struct work_limit){ .left = units };
}

static inline struct work_limit work_limit_for_names(size_t addresses)
{
	return work_limit_of(WORK_BASE + WORK_PER_ADDRESS * (uint64_t)addresses);
}

/*
 * Spends units. Returns false if too few are left; then none are left any more. NULL stands for our
 * own bytes, which have no limit.
 */
static inline bool work_spend(struct work_limit *budget, uint64_t units)
{
	if (!budget)
		return true;
	if (budget->left >= units) {
		budget->left -= units;
		return true;
	}
	budget->left = 0;
	budget->spent = true;
	return false;
}

/*
 * Turns any other result into -ENOMEM if a read had no memory, and into -ETIME if the budget is
 * spent, because the answer may be wrong then.
 */
static inline int work_check(const struct work_limit *budget, int r)
{
	if (budget->starved || r == -ENOMEM)
		return -ENOMEM;
	return budget->spent ? -ETIME : r;
}
