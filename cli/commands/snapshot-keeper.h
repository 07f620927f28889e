/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Leaves a .tape of each incident's window in a folder, for hosts that are recycled before anybody
 * looks. It works in a thread of its own and in processes of their own, with what the store has:
 * nothing that happens to it, or to that folder's disk, touches the recording.
 *
 * An episode is taken when it has been quiet for a while, and again when it goes on. What was taken
 * is known by the store: a file that somebody moved away does not come again.
 */

#include "base/cleanup.h"
#include "base/error.h"

struct snapshot_keeper;

/* 0; 1 when it works, but could not write into the folder now: the text says why. Texts are
 * borrowed. */
int snapshot_keeper_start(const char *store, const char *folder,
			  struct snapshot_keeper **ret_keeper, struct error *error);
/* There is a new incident, which the store has in a moment. From any thread; may be given NULL. */
void snapshot_keeper_found(void *keeper);
/* When nothing more is recorded: what is not taken yet is taken now, for half a minute at the most.
 */
struct snapshot_keeper *snapshot_keeper_stop(struct snapshot_keeper *keeper);
DEFINE_CLEANUP(snapshot_keeper, struct snapshot_keeper *, snapshot_keeper_stop)
