/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Limits the work that the bytes of a foreign file can cause. The budget is in units of about 10 ns
 * of CPU time. A window (symbolizer/file-window.h) spends units for each read. When the budget is
 * spent, the window behaves as if the file ended, so every loop that reads ends too. A loop that
 * does more than one step for each read spends units itself.
 *
 * WORK_BASE is several times as large as the largest known files need: to search ten million
 * symbols takes 30 million units. Honest work also grows with the number of addresses to name, so
 * each address adds WORK_PER_ADDRESS.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORK_BASE (1ull << 26)
#define WORK_PER_ADDRESS 2048
/* For a file of just-in-time code: two million lines. Each tape reads the file anew. */
#define WORK_JIT (1ull << 24)
/* For small tables: a build-id, the name of a debug file. */
#define WORK_SMALL (1ull << 20)

struct work_limit {
	uint64_t left;
	bool spent;
	/* A read could not get memory, so bytes are missing. */
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
 * Spends units. If fewer units are left, spends these and returns false. NULL stands for perftape's
 * own bytes, which do not need a limit.
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
 * Returns -ENOMEM if a read could not get memory, -ETIME if the budget is spent, else r. In the
 * first two cases the answer may be wrong.
 */
static inline int work_check(const struct work_limit *budget, int r)
{
	if (budget->starved || r == -ENOMEM)
		return -ENOMEM;
	return budget->spent ? -ETIME : r;
}
