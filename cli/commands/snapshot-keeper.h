/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes a .tape of each incident's window into a folder, for hosts that are recycled before
 * anybody looks at them. A thread starts a process for each snapshot, which reads the store. If
 * this process or the folder's disk fails, the recording goes on.
 *
 * A snapshot of an episode is taken after the episode has been quiet for a while. If the episode
 * goes on, another snapshot is taken. The store remembers the snapshots, so a file that somebody
 * moved away is not written again.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct snapshot_keeper;

/*
 * Starts the thread. Returns 0; 1 if the folder cannot be written now, with the reason in `error`;
 * or a negative errno. Borrows the texts. Beyond
 * max_bytes, the oldest snapshots go (cli/commands/snapshot-shelf.h).
 */
int snapshot_keeper_start(const char *store, const char *folder, uint64_t max_bytes,
			  struct snapshot_keeper **ret_keeper, struct error *error);
/*
 * Reports a new incident, which the store will contain in a moment. Any thread may call it;
 * `keeper` may be NULL.
 */
void snapshot_keeper_found(void *keeper);
/*
 * Takes the snapshots that are missing, for at most half a minute, and ends the thread. Called
 * after the recording ended. Returns NULL.
 */
struct snapshot_keeper *snapshot_keeper_stop(struct snapshot_keeper *keeper);
DEFINE_CLEANUP(snapshot_keeper, struct snapshot_keeper *, snapshot_keeper_stop)
