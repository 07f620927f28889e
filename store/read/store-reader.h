/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The reading side of the store. Any number of readers can run beside the writer, without its help.
 * A store is a folder, or a .tape file with a part of a store.
 */

#include "base/error.h"
#include "store/disk/limits.h"
#include "store/disk/segment-row.h"
#include "store/disk/store-incident.h"
#include "store/disk/store-unsaved.h"
#include "tape/segment/segment.h"
#include "tape/tape.h"

struct busy;
struct outline;
struct store_reader;

/*
 * Opens a store. Returns -ENOENT if the store does not exist, with a text that says how to create a
 * store. An unreadable index is not an error.
 */
int store_reader_open(const char *path, struct store_reader **ret_reader, struct error *error);
struct store_reader *store_reader_close(struct store_reader *reader);
DEFINE_CLEANUP(store_reader, struct store_reader *, store_reader_close)

const char *store_reader_path(const struct store_reader *reader);
/* Returns whether the store is a single .tape file. */
bool store_reader_is_file(const struct store_reader *reader);

/*
 * The segments that a look at a store found, for a program that asks again and again. A reader with
 * a listing answers all its questions from one look. The look of the next reader with the same
 * listing only reads the spools, and names in the folder of segments if that folder has changed.
 *
 * After an hour, a look reads everything again. Until then it does not see that somebody changed a
 * segment in place, or replaced it by another one of the same name.
 */
struct store_listing;
/* Returns NULL without memory. */
struct store_listing *store_listing_new(void);
struct store_listing *store_listing_free(struct store_listing *listing);
DEFINE_CLEANUP(store_listing, struct store_listing *, store_listing_free)
/*
 * Gives the reader a listing, which must exist as long as the reader asks; NULL takes it away. Only
 * one reader at a time may use a listing. Does nothing if the store is a single file.
 */
void store_reader_use_listing(struct store_reader *reader, struct store_listing *listing);

/*
 * Appends the segments that overlap [from, to), sorted by begin, including unreadable and unsealed
 * ones. 0 and UINT64_MAX mean all. Compares rows of the index with the first bytes of the segments,
 * and finds segments that the index lacks.
 */
int store_reader_find(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      struct store_segments *segments, struct error *error);
/*
 * Appends the same segments from the index, without opening segments. Use it for many segments if
 * only their times matter.
 */
int store_reader_list(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      struct store_segments *segments, struct error *error);

/*
 * Returns the nearest recorded moments outside an empty window: the end of the last segment before
 * `from`, and the begin of the first segment after `to`. A moment is 0 if that segment does not
 * exist.
 */
int store_reader_near(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      uint64_t *ret_before_ns, uint64_t *ret_after_ns, struct error *error);

/*
 * Decodes the wanted parts of a segment (tape/segment/segment.h). For an unsealed segment, decodes
 * everything recorded up to now. If the recorder sealed it meanwhile, decodes the sealed segment.
 * Several threads may call the function at once.
 *
 * Returns 0; -EBADMSG if the segment is damaged, with the place in the text; -ENOENT if retention
 * removed it meanwhile; -ENOMEM; or another errno if reading the file fails.
 */
int store_reader_load(struct store_reader *reader, const struct store_segment *segment,
		      const struct segment_want *want, struct tape **ret_tape, struct error *error);
/*
 * Returns about how many bytes of memory it takes to load a segment and to work on it; 0 if the
 * segment is unreadable. Several threads may call the function at once.
 */
uint64_t store_reader_memory(const struct store_reader *reader,
			     const struct store_segment *segment);

/*
 * Calls see() with the outline (tape/outline.h) of each segment of a list that store_reader_find()
 * made. The outlines come from the index if it has them, else from the segments.
 *
 * `outline` is NULL for segments that do not have one: unsealed, old and tiny ones, those with
 * throttled CPUs, and unreadable ones. A negative result of see() ends the walk, and the function
 * returns it.
 */
int store_reader_outlines(struct store_reader *reader, const struct store_segments *segments,
			  int (*see)(void *context, const struct store_segment *segment,
				     const struct outline *outline),
			  void *context);

/*
 * Calls see() with the busy CPUs (tape/busy.h) of each segment that overlaps [from, to), sorted by
 * begin. The busy CPUs come from the index if it has them, else from the segment. The reader
 * compares a row of busy CPUs with the segment's first bytes.
 *
 * `busy` is NULL for segments without that section: unsealed and old segments, and unreadable
 * segments that the index lacks. Then the caller may load the segment. A negative result of see()
 * ends the walk, and the function returns it.
 */
int store_reader_busy(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      int (*see)(void *context, const struct store_segment *segment,
				 const struct busy *busy),
		      void *context, struct error *error);

/*
 * Appends the ranges of removed segments that overlap [from, to). The ranges that retention removed
 * come first. Omits segments that store_reader_find() lists as vanished.
 */
int store_reader_removed(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			 struct store_removed_ranges *ranges, struct error *error);

/*
 * Reads the note of samples that the last recorder could not store. The note exists until a segment
 * reports them. Returns 1, or 0 without unsaved samples in [from, to).
 */
int store_reader_unsaved(const struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			 struct store_unsaved *ret_unsaved);

/*
 * Calls see() for each incident in [from, to), sorted by time. The texts are valid during the call.
 * A negative result of see() ends the walk, and the function returns it.
 */
int store_reader_incidents(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			   int (*see)(void *context, const struct store_incident *incident),
			   void *context, struct error *error);

/* The size of a store, and the time that it covers. */
struct store_totals {
	uint64_t segments;
	uint64_t samples;
	uint64_t lost;
	uint64_t segment_bytes;
	uint64_t spool_bytes;
	/* The size of all files in the store's folder. */
	uint64_t bytes;
	/* The free space of its file system. */
	uint64_t free_bytes;
	/* The earliest and the latest moment of the wall clock; 0 if the store is empty. */
	uint64_t begin_ns;
	uint64_t end_ns;
	/* The number of spools. */
	uint64_t unsealed;
	/* The end of the latest spool. */
	uint64_t unsealed_end_ns;
	/* The number of segments whose files vanished since the last recorder ran. */
	uint64_t vanished;
	/*
	 * The number of segments with unreadable headers, and of damaged stretches in the notes.
	 * Does not count segments that somebody changed in place without changing their size.
	 */
	uint64_t damaged;
};
int store_reader_totals(struct store_reader *reader, struct store_totals *ret_totals,
			struct error *error);

/*
 * Reads the limits of the last recorder. Returns 1, or 0 with the defaults if the store lacks a
 * note of limits.
 */
int store_reader_limits(struct store_reader *reader, struct store_limits *ret_limits,
			struct error *error);

/*
 * Reads every byte: segments, spool and notes, and compares the index with them. Calls report()
 * with each problem and its file, and progress(), if not NULL, with the bytes read so far and in
 * total. Beside a recorder, does not report index rows that lag only while the recorder seals or
 * removes. Returns 0 even with damage, or a negative errno if the check itself failed.
 */
struct store_verified {
	uint64_t segments;
	uint64_t samples;
	uint64_t bytes;
	/* The number of damaged files. */
	uint64_t damaged;
	/* The number of index rows that are wrong or absent. */
	uint64_t stale;
};
int store_reader_verify(struct store_reader *reader,
			void (*report)(void *context, const char *file, const char *what),
			void (*progress)(void *context, uint64_t bytes, uint64_t total_bytes),
			void *context, struct store_verified *ret_verified, struct error *error);

/*
 * Returns the pid of the process that records into the store now. Returns 0 if no process records,
 * or if our rights do not suffice to tell. *ret_since_ns is its start on the wall clock, or 0 if
 * unknown; the pointer may be NULL.
 */
int store_reader_recorder(const struct store_reader *reader, uint64_t *ret_since_ns);

/*
 * Appends the last status text of the recorder (store_writer_set_status()), without a NUL. The
 * recorder may run or may have been killed. *ret_time_ns is the time of the text, on the wall
 * clock. Returns 1, 0 if the text does not exist or our rights do not suffice to read it, or
 * -ENOMEM.
 */
int store_reader_status(const struct store_reader *reader, struct buffer *text, int *ret_pid,
			uint64_t *ret_time_ns);
