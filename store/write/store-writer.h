/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The writing side of the store. Each store has one writer at a time, which holds a lock with its
 * pid. The calls may wait for the disk. One thread makes all calls, with three exceptions. Any
 * thread may call store_writer_number(). One other thread may call store_writer_spool() and
 * store_writer_forget(), so that samples reach the disk while the first thread makes a segment.
 *
 * Samples go into the spool block by block. Later store_writer_seal() makes a segment of their tape
 * and removes the spool. It returns when the segment is on the disk: written, synced, renamed, and
 * its folder synced. If only the index fails, the segment is safe, and readers find it without the
 * index.
 */

#include <errno.h>
#include <stdbool.h>

#include "base/error.h"
#include "store/disk/limits.h"
#include "store/disk/store-unsaved.h"
#include "tape/segment/segment.h"
#include "tape/tape.h"

struct store_writer;

/*
 * Opens a store for writing. Creates the folder if it does not exist. Returns 0 or a negative
 * errno: -ENOTEMPTY if the folder is not a store and contains other things, -EBUSY with the pid of
 * the present writer in the text.
 */
int store_writer_open(const char *path, struct store_writer **ret_writer, struct error *error);
/*
 * Opens a store only for store_writer_retain(), which then removes nothing. Does not change the
 * store and works beside a writer. Returns -ENOENT if the store does not exist.
 */
int store_writer_open_dry(const char *path, struct store_writer **ret_writer, struct error *error);
struct store_writer *store_writer_close(struct store_writer *writer);
DEFINE_CLEANUP(store_writer, struct store_writer *, store_writer_close)

/* Returns whether a write failed for lack of space. */
static inline bool store_is_full(int result)
{
	return result == -ENOSPC || result == -EDQUOT;
}

/*
 * Returns the number of the next tape of this boot. Never returns a number twice, whatever happens
 * to the tape. Any thread may call this function. Does not make system calls.
 */
uint64_t store_writer_number(struct store_writer *writer);
/*
 * Returns the folder in which naming may keep its results. Only naming uses this folder, and the
 * writer does not create it. Valid as long as the writer.
 */
const char *store_writer_names(const struct store_writer *writer);

/*
 * Appends packed blocks (tape/spool/spool.h) to the spool of a tape of this boot, and waits until
 * they are on the disk. After a failure, call the function again with the same bytes; the function
 * first cuts off the bytes of the failed call. For a sealed or forgotten tape, returns 0 without
 * writing, because such a tape does not need a spool. Returns 1 without writing for a tape that
 * began before somebody replaced the store, because a spool without its first blocks is unreadable.
 */
int store_writer_spool(struct store_writer *writer, uint64_t sequence, const void *bytes,
		       size_t size, struct error *error);
/*
 * Returns whether the spooled part of a tape lies in the present store, as far as the writer has
 * noticed a replacement of the store. Any thread may call this function.
 */
bool store_writer_holds(const struct store_writer *writer, uint64_t sequence);
/* Removes the spool, if any, of a tape that the caller will not seal. */
void store_writer_forget(struct store_writer *writer, uint64_t sequence);
/*
 * Loads a tape of this writer from its complete spool. Returns 0 or the errors of spool_decode()
 * and of reading the file.
 */
int store_writer_load_spool(struct store_writer *writer, uint64_t sequence, struct tape **ret_tape,
			    struct error *error);

/*
 * Marks on the disk that the caller is naming a tape. The mark stays as long as the spool. Returns
 * 1 if an earlier writer marked the tape and did not seal it. Naming may have ended that writer, so
 * the caller must not name the tape. Returns 0 otherwise, or a negative errno.
 */
int store_writer_mark_naming(struct store_writer *writer, const struct tape *tape,
			     struct error *error);

/*
 * Recovers the spools of earlier writers. Calls seal() for each such tape, oldest first; seal()
 * names the tape and calls store_writer_seal(). Then removes the spool. Removes a spool without
 * reading it if its segment exists.
 *
 * Renames a damaged spool, or one without an anchor for its time, to a name that ends in
 * ".damaged", and counts it. Keeps a spool that reading fails for now, and recovers the others.
 * Then returns the first such error, so that the caller can try again. A negative result of seal()
 * ends the recovery, and the function returns it. Sets *ret_recovered in any case.
 */
struct store_recovered {
	uint64_t tapes;
	uint64_t samples;
	/* The number of spools that are lost, wholly or in part. */
	uint64_t damaged;
	/* The number of spools that stay, because reading them fails now. */
	uint64_t unread;
	/* The begin and the end of all recovered tapes, on the wall clock. */
	uint64_t begin_ns, end_ns;
};
int store_writer_recover(struct store_writer *writer,
			 int (*seal)(void *context, struct store_writer *writer, struct tape *tape),
			 void *context, struct store_recovered *ret_recovered, struct error *error);
/* Adds the result of another call of store_writer_recover(). */
void store_recovered_add(struct store_recovered *sum, const struct store_recovered *more);

/*
 * Sorts the samples, thins the anchors, and writes the tape as a segment. The tape stays the
 * caller's. ret_bytes may be NULL. The identity of a segment is its boot id (the fact "boot_id", or
 * ours) and its sequence. Replaces an existing segment of that identity.
 *
 * Returns 0; 1 with a text if the segment is safe but not indexed, which the next call tries again;
 * or a negative errno.
 */
int store_writer_seal(struct store_writer *writer, struct tape *tape, enum segment_effort effort,
		      uint64_t *ret_bytes, struct error *error);

/*
 * Removes segments beyond the limits, the oldest first: by age, then until the store is small
 * enough and enough space is free. Segments near incidents and pins stay longer: beyond the age
 * limit, and while retention can remove others instead. With `dry` or a dry writer, does not remove
 * anything. Calls removes(), if not NULL, before it removes a segment.
 */
struct store_retained {
	/* The number of removed segments. */
	uint64_t removed;
	uint64_t removed_bytes;
	/*
	 * The time that the removed segments covered, on the wall clock; both 0 without removed
	 * segments.
	 */
	uint64_t from_ns;
	uint64_t to_ns;
	/* The removed segments whose numbers this writer assigned, and their size. */
	uint64_t own;
	uint64_t own_bytes;
	/* The number of segments that are older than the limit and stay because of a pin. */
	uint64_t pinned;
	/* The number of segments that stay. */
	uint64_t segments;
	/* The size of everything that stays in the store. */
	uint64_t bytes;
	/* Free space of the disk before the removals. */
	uint64_t free_bytes;
	/* The disk space that an empty disk would have free. */
	uint64_t disk_bytes;
	/* The number of segments that retention removed for free space, and their size. */
	uint64_t for_space;
	uint64_t for_space_bytes;
	/*
	 * Others use so much of the disk that the requested free space is out of reach. So
	 * retention does not try to reach it. It only removes the oldest segments for new ones, so
	 * that the store does not grow.
	 */
	bool starved;
	/*
	 * The number of segments that stay because only a jump of the wall clock made them too old.
	 */
	uint64_t spared;
};
struct store_segment;
int store_writer_retain(struct store_writer *writer, const struct store_limits *limits, bool dry,
			void (*removes)(void *context, const struct store_segment *segment,
					const char *why),
			void *context, struct store_retained *ret_retained, struct error *error);

/*
 * Computes which segments a change of limits would remove at once and the old limits keep. Does not
 * remove them.
 */
struct store_limits_change {
	uint64_t removed;
	uint64_t removed_bytes;
	/* The time that the removed segments cover, on the wall clock. */
	uint64_t from_ns;
	uint64_t to_ns;
	/*
	 * The number of removed segments that the old limits keep around an incident or for a pin.
	 */
	uint64_t pinned;
	/* All segments of the store. */
	uint64_t segments;
	uint64_t segment_bytes;
};
int store_writer_compare_limits(struct store_writer *writer, const struct store_limits *old,
				const struct store_limits *limits,
				struct store_limits_change *ret_change, struct error *error);

/*
 * Describes in a sentence why less space is free than the limit, and what retention did about it.
 * Returns false if enough is free.
 */
bool store_space_describe(const struct store_limits *limits, const struct store_retained *retained,
			  struct error *ret_text);

/* Rebuilds the index from the segments and the notes. */
int store_writer_rebuild(struct store_writer *writer, struct error *error);

/*
 * Returns 1 if the store has a note of an import under this name, else 0. The caller chooses the
 * name, without a slash.
 */
int store_writer_imported(struct store_writer *writer, const char *id);
/* Notes the import, with a line that describes it. */
int store_writer_note_import(struct store_writer *writer, const char *id, const char *line,
			     struct error *error);
/*
 * Writes the status of the recorder, any text without a NUL. store_reader_status() returns the last
 * text while the writer is open, or after somebody killed the writer. Any thread may call this
 * function, one at a time. Does not sync, because the text is useless after a crash of the machine.
 */
int store_writer_set_status(struct store_writer *writer, const char *text, struct error *error);
/*
 * Writes a note of the unsaved samples of this recording. Sets the boot and the first number in the
 * note. The note stays until a writer has recovered the rest of the spool. Works on a full disk,
 * because opening has reserved the disk space of the note. Returns 0 or a negative errno.
 */
int store_writer_note_unsaved(struct store_writer *writer, struct store_unsaved *unsaved);
/*
 * Returns whether store_writer_open() removed rights of others from the store
 * (store/write/folder-rights.h).
 */
bool store_writer_tightened(const struct store_writer *writer);
/* Returns whether store_writer_open() set notes beyond NOTES_MAX aside (store/disk/notes.h). */
bool store_writer_shortened(const struct store_writer *writer);
/* Returns how often somebody removed or replaced the open store, as far as sealing noticed. */
uint64_t store_writer_replacements(const struct store_writer *writer);
/*
 * Reads the note of unsaved samples of the previous recorder. Returns 1, or 0 if it does not exist.
 * The caller reports the note and then calls store_writer_clear_unsaved().
 */
int store_writer_unsaved(const struct store_writer *writer, struct store_unsaved *ret_unsaved);
void store_writer_clear_unsaved(struct store_writer *writer);
/*
 * Notes the limits for vacuum, unless they equal the last ones. store_reader_limits() returns them.
 */
int store_writer_note_limits(struct store_writer *writer, const struct store_limits *limits,
			     struct error *error);
