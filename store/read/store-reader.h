/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The side of the store that reads: any number at a time, beside the writer, without its help. A
 * store is a folder, or one .tape file that somebody cut out of one.
 */

#include "base/error.h"
#include "store/disk/limits.h"
#include "store/disk/segment-row.h"
#include "store/disk/store-incident.h"
#include "store/disk/store-unsaved.h"
#include "tape/segment/segment.h"
#include "tape/tape.h"

struct busy;
struct store_reader;

/* -ENOENT when there is no store; the text says how to make one. An index that cannot be read is no
 * obstacle. */
int store_reader_open(const char *path, struct store_reader **ret_reader, struct error *error);
struct store_reader *store_reader_close(struct store_reader *reader);
DEFINE_CLEANUP(store_reader, struct store_reader *, store_reader_close)

const char *store_reader_path(const struct store_reader *reader);
/* One .tape file, which somebody cut out of a store. */
bool store_reader_is_file(const struct store_reader *reader);

/*
 * Appends the segments that overlap [from, to), by their begin; those that cannot be read and those
 * that are not sealed yet too. from 0 and to UINT64_MAX are all. What the index says is held
 * against the segments' own first bytes, and what it does not know is found all the same.
 */
int store_reader_find(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      struct store_segments *segments, struct error *error);
/* The same as the index has it, without a look into segments: for when there are many, and only
 * what time they are of is asked for. */
int store_reader_list(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      struct store_segments *segments, struct error *error);

/*
 * The nearest recorded moments outside a window in which nothing was: the end of the last segment
 * before `from` and the begin of the first one after `to`, 0 where there is none.
 */
int store_reader_near(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      uint64_t *ret_before_ns, uint64_t *ret_after_ns, struct error *error);

/*
 * Decodes what is wanted of one segment (tape/segment/segment.h); of one that is not sealed, all up
 * to now, or the segment that it has become meanwhile. -EBADMSG when it is damaged (the text says
 * where), -ENOENT when retention took it meanwhile, -ENOMEM; another errno when this file cannot be
 * read. May be called from several threads at once.
 */
int store_reader_load(struct store_reader *reader, const struct store_segment *segment,
		      const struct segment_want *want, struct tape **ret_tape, struct error *error);

/*
 * Which CPUs were busy (tape/busy.h) in the segments that overlap [from, to), by their begin, from
 * the index where that knows it, and read from no segment but those. It is NULL of segments that
 * have it nowhere: of what is not sealed, of old ones, and of those that cannot be read and that
 * the index does not know; then the caller may load it. A row is held against the segment's first
 * bytes if any CPU was busy in it. A negative answer of `see` ends it and is handed on.
 */
int store_reader_busy(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      int (*see)(void *context, const struct store_segment *segment,
				 const struct busy *busy),
		      void *context, struct error *error);

/* Appends those that overlap [from, to), what retention removed first. What store_reader_find()
 * lists as missing is not among them yet. */
int store_reader_gone(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      struct store_gone_list *gone, struct error *error);

/* What the last recorder could not store, as it said at its end, until a segment tells of it. 1, or
 * 0 when there is nothing of it in [from, to). */
int store_reader_left(const struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
		      struct store_unsaved *ret_left);

/* Those whose time lies in [from, to), by time; the texts are valid during the call. A negative
 * answer of `see` ends it. */
int store_reader_incidents(struct store_reader *reader, uint64_t from_ns, uint64_t to_ns,
			   int (*see)(void *context, const struct store_incident *incident),
			   void *context, struct error *error);

/* What the store takes, and since when. */
struct store_totals {
	uint64_t segments;
	uint64_t samples;
	uint64_t lost;
	uint64_t segment_bytes;
	uint64_t spool_bytes;
	/* of all that is in its folder */
	uint64_t bytes;
	/* of its file system */
	uint64_t free_bytes;
	/* of the wall clock: the oldest and the latest moment; 0 where there is nothing */
	uint64_t begin_ns;
	uint64_t end_ns;
	/* spools */
	uint64_t unsealed;
	/* how far the latest of them reaches */
	uint64_t unsealed_end_ns;
	/* segments whose files were taken away since the last recorder was there */
	uint64_t vanished;
	/* segments whose header cannot be read, and stretches of the notes; not those that were
	 * changed in place, with the size they had */
	uint64_t damaged;
};
int store_reader_totals(struct store_reader *reader, struct store_totals *ret_totals,
			struct error *error);

/* The limits that the last recorder was told, or the defaults: 1 and 0. */
int store_reader_limits(struct store_reader *reader, struct store_limits *ret_limits,
			struct error *error);

/*
 * Looks at every byte: segments, spool, notes, and whether the index says what they do. `finds` is
 * told of each thing that is wrong, with the file; `progress`, if not NULL, of how many bytes of
 * how many were read. 0 also when there is damage. A negative errno when it could not be looked at
 * all. Beside a recorder, what the index lacks only while it seals or removes is not told.
 */
struct store_verified {
	uint64_t segments;
	uint64_t samples;
	uint64_t bytes;
	/* files that are */
	uint64_t damaged;
	/* rows of the index that say something else, or are missing */
	uint64_t stale;
};
int store_reader_verify(struct store_reader *reader,
			void (*finds)(void *context, const char *file, const char *what),
			void (*progress)(void *context, uint64_t bytes, uint64_t of), void *context,
			struct store_verified *ret_verified, struct error *error);

/*
 * The pid of who records into it at this moment; 0: nobody, or not to be told with our rights.
 * Since when it runs, of the wall clock, is 0 where that cannot be told; ret_since_ns may be NULL.
 */
int store_reader_recorder(const struct store_reader *reader, uint64_t *ret_since_ns);

/*
 * What the recorder told of itself last (store_writer_tell()), appended to the text, without a NUL:
 * of the one that runs, or of one that was killed. ret_told_ns is when, of the wall clock. 1, or 0
 * when there is nothing, or nothing to be read with our rights; -ENOMEM.
 */
int store_reader_status(const struct store_reader *reader, struct buffer *text, int *ret_pid,
			uint64_t *ret_told_ns);
