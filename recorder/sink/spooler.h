/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Appends the growing tape to the spool, block by block, in a thread of its own. Naming and sealing
 * a segment takes seconds, and the spool should not lag by more than about one.
 *
 * If a block cannot be written, the thread tries again each second, and later blocks wait. If the
 * disk is full, the thread first asks the owner to free disk space.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/write/store-writer.h"
#include "tape/spool/spool.h"

struct spooler;

struct spooler_owner {
	/*
	 * The disk is full. Called in the spooler's thread; call spooler_retry() when there is free
	 * disk space.
	 */
	void (*make_room)(void *context);
	void *context;
};

struct spooler_status {
	/* The spool cannot be written, as `error` says; the spooler tries again each second. */
	bool blocked;
	struct error error;
	/* All before this time is on the disk. */
	uint64_t spooled_ns;
};

/*
 * Starts the thread. It uses only functions of the writer that other threads may call. The owner is
 * borrowed. Returns 0 or a negative errno.
 */
int spooler_start(struct store_writer *writer, const struct spooler_owner *owner,
		  struct spooler **ret_spooler, struct error *error);
/*
 * Requests the end without waiting for it. spooler_ended() returns whether spooler_stop() would
 * return at once.
 */
void spooler_end(struct spooler *spooler);
bool spooler_ended(struct spooler *spooler);
/*
 * Tries to write the waiting blocks once more, drops those that fail, and frees the spooler. Sets
 * *ret_spooled_ns, which may be NULL, to the end of what is on the disk.
 */
struct spooler *spooler_stop(struct spooler *spooler, uint64_t *ret_spooled_ns);

/* The functions below may be called from any thread and do not wait for the disk. */

/* Returns whether another block fits: most earlier blocks are on the disk. */
bool spooler_has_room(struct spooler *spooler);
/* Takes ownership of the block's contents, also on failure. Returns 0 or -ENOMEM. */
int spooler_put(struct spooler *spooler, struct spool_block *block);
/* Drops the blocks of tapes up to this number. */
void spooler_drop(struct spooler *spooler, uint64_t sequence);
/*
 * Drops the blocks of an unsaved tape and removes its spool. Otherwise its samples would count
 * twice, as unsaved and as recovered. Returns 0 or -ENOMEM.
 */
int spooler_forget(struct spooler *spooler, uint64_t sequence);
/* Tries again at once to write the block that failed. */
void spooler_retry(struct spooler *spooler);
/* Sets *ret_status to the present state. */
void spooler_status(struct spooler *spooler, struct spooler_status *ret_status);
