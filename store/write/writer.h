/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shared by the parts of the writing side: writer.c opens and seals, spool-files.c appends,
 * recovery.c recovers, retention.c removes.
 */

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/intern.h"
#include "store/write/retention-plan.h"
#include "store/disk/index.h"
#include "store/write/store-writer.h"

/*
 * The number of closed tapes that the writer remembers. The last blocks of a tape may arrive after
 * one or two later tapes have begun.
 */
#define WRITER_CLOSED 64

/*
 * Invariants:
 * (1) While the writer is open and not dry, it holds a lock, and the lock file names its pid.
 *     Before each write, the writer checks whether the lock is still the store's.
 * (2) Every sound segment file is in the index, or will be at the next open. Sealing renames
 *     first and indexes second.
 * (3) next_sequence is above the numbers of all segments and spools of this boot, and the lock
 *     file contains next_sequence.
 * (4) A spool exists until its segment is on the disk. The writer does not start a spool again
 *     after that.
 * (5) spool_lock guards the members below it. A second thread uses only those.
 */
struct store_writer {
	char *path;
	char segments[PATH_MAX];
	char spools[PATH_MAX];
	char names[PATH_MAX];
	int lock_fd;
	/* While opening, the writer removed rights of others from the folder. */
	bool tightened;
	/* While opening, the writer set notes beyond NOTES_MAX aside. */
	bool shortened;
	/* The identity of the locked file. */
	_Atomic uint64_t lock_device, lock_inode;
	/* NULL if opening the index failed. */
	struct index *index;
	/* The writer does not hold the lock, and its index is open for reading. */
	bool dry;
	char boot_id[40];
	_Atomic uint64_t next_sequence;
	/* Smaller numbers belong to earlier writers. */
	uint64_t first_sequence;
	/*
	 * Somebody removed or replaced the store or a part of it. The writer must read its state
	 * again.
	 */
	atomic_bool replaced;
	/* The replaced store does not have our numbers yet. */
	bool replacing;
	/*
	 * Smaller numbers belong to tapes from before the replacement, which will get other
	 * numbers.
	 */
	_Atomic uint64_t renumber_below;
	/* The number of replacements. */
	uint64_t replacements;
	/* The index lacks a change that failed. */
	bool behind;
	char sealed_last[64];
	/* The segment that did not fit on the disk at the last try, and its size. */
	char unfit[64];
	uint64_t unfit_bytes;
	/* The time on CLOCK_MONOTONIC when the writer set floor_bytes. */
	uint64_t floor_ns;
	/* The store does not shrink below this size to free space. */
	uint64_t floor_bytes;
	/* The limit of the size while other processes fill the disk. */
	struct retention_plan_hold hold;
	struct strings imported;
	/* The paths of the marks that this writer made for tapes of earlier writers. */
	struct strings marked;

	pthread_mutex_t spool_lock;
	/* The open spools. */
	array_of(struct spool_file) open;
	/*
	 * The numbers, plus 1, of tapes whose spools the writer removed. The place of a number is
	 * its remainder modulo WRITER_CLOSED.
	 */
	uint64_t closed[WRITER_CLOSED];
};

struct spool_file {
	uint64_t sequence;
	int fd;
	/* The file may have bytes behind `size`. */
	bool torn;
	uint64_t size;
};

/*
 * Takes the store's lock, and releases the one that the writer holds. Returns 0, or -EBUSY with the
 * pid of the holder in the text.
 */
int writer_lock(struct store_writer *writer, struct error *error);
/* Returns whether the present lock is still the store's. Any thread may call it. */
bool writer_has_lock(const struct store_writer *writer);
/*
 * Call it before a write, with spool_lock held. If somebody replaced the store, takes the lock of
 * the new store; if somebody removed it, creates it again. Returns 0, or -EBUSY like writer_lock().
 */
int writer_ensure_lock(struct store_writer *writer, struct error *error);
/* Returns -EBUSY if the present lock is not the store's. Call it before work that can wait. */
int writer_check(const struct store_writer *writer, struct error *error);
int writer_make_folders(struct store_writer *writer, struct error *error);
/* Sets next_sequence above the numbers of all files of this boot, sound or not. */
int writer_find_numbers(struct store_writer *writer, struct error *error);

/* Closes all spools. */
void spool_files_close(struct store_writer *writer);

/* Removes the spool, if any, of a tape of that boot. */
void spool_files_remove(struct store_writer *writer, const char *boot_id, uint64_t sequence);

/* Returns whether the index lacks a change or does not exist. */
bool writer_is_behind(const struct store_writer *writer);
/* Makes the index agree with the folder. Rebuilds it if necessary. */
int writer_reconcile(struct store_writer *writer, struct error *error);

/*
 * Removes rows from the index. If that fails, the writer removes them before it indexes the next
 * segment.
 */
void writer_forget_rows(struct store_writer *writer, const struct store_segments *segments);
