/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Appends the growing tape to the spool, block by block, in a separate thread. To name and seal a
 * segment takes seconds, but the spool should not lag by more than about one second.
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
	 * The spooler's thread calls it when the disk is full. Call spooler_retry() when there is
	 * free disk space again.
	 */
	void (*make_room)(void *context);
	void *context;
};

struct spooler_status {
	/*
	 * The spool cannot be written, for the reason in `error`; the spooler tries again each
	 * second.
	 */
	bool blocked;
	struct error error;
	/*
	 * All samples before this time are on the disk, except those of tapes that began before
	 * somebody replaced the store.
	 */
	uint64_t spooled_ns;
};

/*
 * Starts the thread. The thread uses only functions of the writer that are safe beside other
 * threads. Borrows the owner. Returns 0 or a negative errno.
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
 * *ret_spooled_ns, which may be NULL, to the time before which all samples are on the disk.
 */
struct spooler *spooler_stop(struct spooler *spooler, uint64_t *ret_spooled_ns);

/* Any thread may call the functions below. They do not wait for the disk. */

/* Returns whether there is room for another block. If not, earlier blocks wait for the disk. */
bool spooler_has_room(struct spooler *spooler);
/* Takes ownership of the block's contents, also on failure. Returns 0 or -ENOMEM. */
int spooler_put(struct spooler *spooler, struct spool_block *block);
/* Drops the blocks of the tapes up to this sequence number. */
void spooler_drop(struct spooler *spooler, uint64_t sequence);
/*
 * Drops the blocks of an unsaved tape and removes its spool. Otherwise the samples of the tape
 * would count twice, as unsaved and as recovered. Returns 0 or -ENOMEM.
 */
int spooler_forget(struct spooler *spooler, uint64_t sequence);
/* Tries again at once to write the block that failed. */
void spooler_retry(struct spooler *spooler);
/* Sets *ret_status to the present state. */
void spooler_status(struct spooler *spooler, struct spooler_status *ret_status);
