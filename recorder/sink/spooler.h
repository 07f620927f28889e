/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Appends what a tape holds so far to the spool, block by block, in a thread of its own: a segment
 * that is being named and sealed takes seconds, and the spool is to be a second behind all the
 * while.
 *
 * A block that cannot be written is tried again each second, and those behind it wait. Where the
 * disk is full the owner is asked to make room first.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/write/store-writer.h"
#include "tape/spool/spool.h"

struct spooler;

struct spooler_owner {
	/* The disk is full. From the spooler's thread; spooler_try_again() when there is room. */
	void (*make_room)(void *context);
	void *context;
};

struct spooler_status {
	/* the spool cannot be written: tried again each second, `error` says why */
	bool stalled;
	struct error error;
	/* how far it reaches: all before it is on the disk */
	uint64_t spooled_ns;
};

/* Of the writer only what may be called from another thread is used. The owner is borrowed. */
int spooler_start(struct store_writer *writer, const struct spooler_owner *owner,
		  struct spooler **ret_spooler, struct error *error);
/* The same without waiting for it; spooler_ended() says whether spooler_stop() would return at
 * once. */
void spooler_end(struct spooler *spooler);
bool spooler_ended(struct spooler *spooler);
/* What waits is tried once more; what cannot be written then is dropped. How far the spool reaches
 * at last; may be NULL. */
struct spooler *spooler_stop(struct spooler *spooler, uint64_t *ret_spooled_ns);

/* From any thread, and without waiting for the disk: */

/* Whether there is room for another block: those before are on the disk, or nearly so. */
bool spooler_takes(struct spooler *spooler);
/* Gives the contents of a block away, also on failure. 0 or -ENOMEM. */
int spooler_put(struct spooler *spooler, struct spool_block *block);
/* Blocks of tapes up to that number need not be written any more. */
void spooler_drop(struct spooler *spooler, uint64_t sequence);
/* The tape of that number was given up: its spool, which would tell of samples that were said to be
 * lost, is to go; and its blocks. 0 or -ENOMEM. */
int spooler_forget(struct spooler *spooler, uint64_t sequence);
void spooler_try_again(struct spooler *spooler);
void spooler_status(struct spooler *spooler, struct spooler_status *ret_status);
