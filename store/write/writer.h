/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the parts of the writing side share: writer.c opens and seals, spool-files.c appends,
 * recovery.c and retention.c. */

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/intern.h"
#include "store/write/retention-plan.h"
#include "store/disk/index.h"
#include "store/write/store-writer.h"

/* A block comes too late by a tape or two. */
#define WRITER_CLOSED 64

/*
 * Invariants:
 * (1) while the writer is open, and not dry, it holds a lock, and the lock file names its pid;
 * whether it is still the store's is looked at before anything is written; (2) every sound segment
 * file is in the index, or will be at the next open: sealing renames first and indexes second; (3)
 * next_sequence is above that of every segment and every spool of this boot, and the lock file
 * names it; (4) a spool is there until its segment is on the disk, and not begun again after that;
 * (5) the lock guards what stands below it in the struct, which is all that a second thread uses.
 */
struct store_writer {
	char *path;
	char segments[PATH_MAX];
	char spools[PATH_MAX];
	char names[PATH_MAX];
	int lock_fd;
	/* of the file that it locks */
	_Atomic uint64_t lock_device, lock_inode;
	/* NULL when it could not be opened */
	struct index *index;
	/* without the lock; the index is for reading */
	bool dry;
	char boot_id[40];
	_Atomic uint64_t next_sequence;
	/* below it are those of writers before us */
	uint64_t first_sequence;
	/* the store, or a part of it, was removed or replaced: what is known of it must be found
	 * out */
	atomic_bool anew;
	/* and has no numbers of ours yet */
	bool replacing;
	/* numbers below were given out before that, for tapes that get others */
	uint64_t anew_from;
	/* times */
	uint64_t renewed;
	/* a change could not be brought into the index */
	bool behind;
	char sealed_last[64];
	/* the segment that the disk had no room for when it was tried last: */
	char unfit[64];
	uint64_t unfit_bytes;
	/* CLOCK_MONOTONIC, since when: */
	uint64_t floor_ns;
	/* it gives no more than down to this for free space */
	uint64_t floor_bytes;
	/* while others fill the disk */
	struct retention_plan_hold hold;
	struct strings imported;

	pthread_mutex_t spool_lock;
	/* spools */
	array_of(struct spool_file) open;
	/* numbers of tapes whose spools were removed, + 1; each at its remainder */
	uint64_t closed[WRITER_CLOSED];
};

struct spool_file {
	uint64_t sequence;
	int fd;
	/* there may be something behind size */
	bool torn;
	uint64_t size;
};

/* Takes the lock, in place of one that it has. 0; -EBUSY names the pid of who has it. */
int writer_lock(struct store_writer *writer, struct error *error);
/* Is the lock that it has the store's? From any thread. */
bool writer_holds(const struct store_writer *writer);
/* Before something is written, with the lock of the spools: takes the store's lock again, and makes
 * the store again, where they went. 0; -EBUSY as above. */
int writer_hold(struct store_writer *writer, struct error *error);
/* -EBUSY where the lock that it has is not the store's: for what can wait, or be left out. */
int writer_check(const struct store_writer *writer, struct error *error);
int writer_make_folders(struct store_writer *writer, struct error *error);
/* Numbers go on above those of all files of this boot, whether they are sound or not. */
int writer_find_numbers(struct store_writer *writer, struct error *error);

/* Closes all spools. */
void spool_files_close(struct store_writer *writer);

/* Removes the spool of a tape of that boot, if it has one. */
void spool_files_remove(struct store_writer *writer, const char *boot_id, uint64_t sequence);

/* Is there something that the index does not know, or no index? */
bool writer_is_behind(const struct store_writer *writer);
/* Makes the index agree with the folder, a new index if it has to be. */
int writer_reconcile(struct store_writer *writer, struct error *error);

/* Takes names out of the index; what cannot be is done before the next segment is indexed. */
void writer_forget_rows(struct store_writer *writer, const struct store_segments *segments);
