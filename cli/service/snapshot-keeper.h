/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Writes a .tape of each incident's window into a folder, for hosts that are recycled before
 * anybody looks at them. A thread starts a process for each snapshot, and this process reads the
 * store. If this process or the folder's disk fails, the recording goes on.
 *
 * The keeper takes a snapshot of an episode after the episode has been quiet for a while. If the
 * episode goes on, the keeper takes another snapshot. A note in the store remembers the snapshots,
 * so the keeper does not write a file again that somebody moved away. A follower, which may only
 * read the store, has this note in the folder.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct snapshot_keeper;

struct snapshot_keeper_options {
	const char *store;
	const char *folder;
	/*
	 * Limit of the folder's size; the keeper removes the oldest files beyond it
	 * (cli/service/snapshot-shelf.h).
	 */
	uint64_t max_bytes;
	/* Incidents before this moment of the wall clock get no snapshot. */
	uint64_t since_ns;
	/* The keeper belongs to a follower: it cannot write into the store. */
	bool follows;
	/*
	 * Write a text beside each snapshot, too: the output of `perftape top` about the snapshot.
	 */
	bool texts;
	/* The name of the option with the limit, for messages. */
	const char *limit_option;
};

/*
 * Starts the thread. Returns 0; 1 if the folder cannot be written now, with the reason in `error`;
 * or a negative errno. Borrows the texts.
 */
int snapshot_keeper_start(const struct snapshot_keeper_options *options,
			  struct snapshot_keeper **ret_keeper, struct error *error);
/*
 * Reports a new incident, which reaches the store a moment later. Any thread may call it; `keeper`
 * may be NULL.
 */
void snapshot_keeper_found(void *keeper);
/*
 * Takes the missing snapshots, for at most half a minute, and ends the thread. Call it after the
 * recording ended. Returns NULL.
 */
struct snapshot_keeper *snapshot_keeper_stop(struct snapshot_keeper *keeper);
DEFINE_CLEANUP(snapshot_keeper, struct snapshot_keeper *, snapshot_keeper_stop)

/* A keeper also looks for incidents that happened within this time before its start. */
#define SNAPSHOT_KEEPER_BACK_NS (900 * 1000000000ull)
