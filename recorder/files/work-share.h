/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shares the CPU time of a helper between the owners of the files that it reads. A process can map
 * ever new files, each of which takes long to read; its owner then loses the detail of these files,
 * and the other owners lose nothing. Belongs to one thread.
 */

#include "recorder/procs/accounts.h"

struct work_share {
	struct accounts accounts;
	/* When the present period began, CLOCK_MONOTONIC; 0: not yet. */
	uint64_t begun_ns;
};

/*
 * `own` is the microseconds of CPU time that an owner may use at once, and those that come back per
 * second. An owner whose last file took longer waits until they have paid for it. All owners
 * together may use a multiple of it.
 */
void work_share_init(struct work_share *share, struct account_bucket own);
void work_share_done(struct work_share *share);
/* Returns false if the owner has used up its share. Owner 0 has no bound. */
bool work_share_admits(struct work_share *share, uint64_t owner, uint64_t now_ns);
/* Counts CPU time that the helper spent for the owner, and a microsecond for each call. */
void work_share_spend(struct work_share *share, uint64_t owner, uint64_t spent_ns);
