/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The side of the store that writes: one at a time for each store, known by a lock with its pid.
 * The calls may wait for the disk and are for one thread, but for three: store_writer_number() is
 * for any thread; store_writer_spool() and store_writer_forget() are for one other thread, so that
 * what is being recorded gets to the disk while a segment is made.
 *
 * What is being recorded goes into the spool, block by block, and is then sealed into a segment;
 * the spool is removed when the segment is on the disk. A sealed segment is on the disk when
 * store_writer_seal() returns: written, synced, renamed, its folder synced, and then indexed. When
 * only the index fails the segment is safe all the same and is found without it.
 */

#include <errno.h>
#include <stdbool.h>

#include "base/error.h"
#include "store/disk/limits.h"
#include "store/disk/store-unsaved.h"
#include "tape/segment/segment.h"
#include "tape/tape.h"

struct store_writer;

/* Makes the folder where it is missing. -EBUSY names the pid of the writer that is there. */
int store_writer_open(const char *path, struct store_writer **ret_writer, struct error *error);
/*
 * For store_writer_retain() alone, which then removes nothing: changes nothing in the store and
 * goes beside a writer. -ENOENT when there is no store.
 */
int store_writer_open_dry(const char *path, struct store_writer **ret_writer, struct error *error);
struct store_writer *store_writer_close(struct store_writer *writer);
DEFINE_CLEANUP(store_writer, struct store_writer *, store_writer_close)

/* Was it for want of room that something was not written? */
static inline bool store_is_full(int result)
{
	return result == -ENOSPC || result == -EDQUOT;
}

/* The number of the next tape of this boot; never the same twice, whatever becomes of the tape.
 * From any thread, no system call. */
uint64_t store_writer_number(struct store_writer *writer);
/* The folder in which who names tapes may keep what was found; of no use to anybody else, and not
 * made here. Valid as long as the writer. */
const char *store_writer_names(const struct store_writer *writer);

/*
 * Appends packed blocks (tape/spool/spool.h) of the tape of that number and of this boot to its
 * spool, and waits until they are on the disk. After a failure the same bytes can be given again:
 * what was written of them in part is cut off first. Once the tape is sealed or forgotten, no new
 * spool is begun for it: there is no need of one any more, and 0 comes back.
 */
int store_writer_spool(struct store_writer *writer, uint64_t sequence, const void *bytes,
		       size_t size, struct error *error);
/* The tape of that number will not be sealed: away with its spool, if it has one. */
void store_writer_forget(struct store_writer *writer, uint64_t sequence);

/*
 * What writers before us left unsealed: calls `seal` for each such tape, oldest first, which names
 * it and gives it to store_writer_seal(). Where that went well the spool is removed; a spool that
 * belongs to a segment that is there is removed unread. One that cannot be read at all, or has no
 * anchor that tells when it was, is set aside under a name that ends in ".damaged", and counted.
 * One that cannot be read now stays where it is, and the others are recovered all the same: then
 * the first such error comes back. A negative answer of `seal` ends it and is handed on. What was
 * recovered is told in any case; what stays can be tried again.
 */
struct store_recovered {
	uint64_t tapes;
	uint64_t samples;
	/* spools of which a part or all is lost */
	uint64_t damaged;
	/* spools that stay, because they cannot be read now */
	uint64_t unread;
	/* of the wall clock, over all of them */
	uint64_t begin_ns, end_ns;
};
int store_writer_recover(struct store_writer *writer,
			 int (*seal)(void *context, struct store_writer *writer, struct tape *tape),
			 void *context, struct store_recovered *ret_recovered, struct error *error);
/* What the next try brings. */
void store_recovered_add(struct store_recovered *sum, const struct store_recovered *more);

/*
 * Sorts the samples, thins the anchors, and makes a segment of the tape; ret_bytes may be NULL. The
 * tape stays the caller's. Its identity is its boot (the fact "boot_id"; without it, ours) and its
 * sequence: it takes the place of a segment of that identity. 0; 1 when the segment is safe, but
 * could not be indexed: the text says why, and the next call tries again.
 */
int store_writer_seal(struct store_writer *writer, struct tape *tape, enum segment_effort effort,
		      uint64_t *ret_bytes, struct error *error);

/*
 * Removes what is beyond the limits, the oldest first: by age, then as long as there are too many
 * bytes or too few free ones. Segments near incidents and pins stay longer than the others: beyond
 * their age, and as long as others can be removed instead. With `dry`, or a writer that was opened
 * so, nothing is removed. remove_one, if it is not NULL, is told of each segment before it is
 * removed.
 */
struct store_retained {
	/* segments */
	uint64_t removed;
	uint64_t removed_bytes;
	/* of those removed: that this writer had given their numbers; and their bytes */
	uint64_t own;
	uint64_t own_bytes;
	/* that stay beyond their age */
	uint64_t pinned;
	/* that are left */
	uint64_t segments;
	/* of all that is left in the store */
	uint64_t bytes;
	/* of the disk, before anything was removed */
	uint64_t free_bytes;
	/* that could be free if nothing was on it */
	uint64_t disk_bytes;
	/* of those removed, for want of free space; and their bytes */
	uint64_t for_space;
	uint64_t for_space_bytes;
	/*
	 * Others take so much of the disk that the free space that is asked for cannot be had:
	 * nothing is removed for it, but the oldest for what is recorded anew, so that the store
	 * does not grow.
	 */
	bool starved;
	/* segments that are too old by a wall clock that went ahead at once, and stay */
	uint64_t spared;
};
struct store_segment;
int store_writer_retain(struct store_writer *writer, const struct store_limits *limits, bool dry,
			void (*removes)(void *context, const struct store_segment *segment,
					const char *why),
			void *context, struct store_retained *ret_retained, struct error *error);

/*
 * One sentence where less of the disk is free than the limit says: whose fault that is, and what
 * was, or is not, removed for it. False when all is well.
 */
bool store_space_describe(const struct store_limits *limits, const struct store_retained *retained,
			  struct error *ret_text);

/* Makes the index anew from the segments and the notes. */
int store_writer_rebuild(struct store_writer *writer, struct error *error);

/* What was imported is known by a name of the caller's, without a slash. 1 when it is there, else
 * 0. */
int store_writer_imported(struct store_writer *writer, const char *id);
/* Remembers it, with a line on what it was. */
int store_writer_note_import(struct store_writer *writer, const char *id, const char *line,
			     struct error *error);
/*
 * Tells readers of the recorder, in any text without a NUL: store_reader_status() gives back the
 * last one, as long as the writer is open, or was not closed but killed. From any thread, one at a
 * time. It is not synced: nobody asks for it after a crash of the machine.
 */
int store_writer_tell(struct store_writer *writer, const char *text, struct error *error);
/*
 * What of this recording could not be stored, to be said as long as nobody has recovered what is in
 * the spool of it; its boot and first number are filled in. There is room for that on a full disk.
 * 0 or a negative errno.
 */
int store_writer_leave(struct store_writer *writer, struct store_unsaved *left);
/* How often the store was removed or replaced while it was open, as sealing found out. */
uint64_t store_writer_renewed(const struct store_writer *writer);
/* What the recorder before left to say; 1, or 0 when there is nothing. From then on it is the
 * caller's to tell: store_writer_heard() when it did. */
int store_writer_left(const struct store_writer *writer, struct store_unsaved *ret_left);
void store_writer_heard(struct store_writer *writer);
/* Remembers the limits, for vacuum, if they are not the last ones already, which
 * store_reader_limits() gives back. */
int store_writer_note_limits(struct store_writer *writer, const struct store_limits *limits,
			     struct error *error);
