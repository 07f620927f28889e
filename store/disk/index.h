/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The index: one row a segment, one for each of their incidents, and one of which CPUs were busy in
 * it. SQLite in WAL mode; sqlite3.h is included nowhere else. It is a cache of the segments: what
 * is not in it is put back when the writer opens the store, and it can be thrown away at any time.
 *
 * SQLite does not notice when a page was changed: each row carries a checksum, and is read as a
 * whole, in the order of the names. So a row is there and right, or it is not there, and no look-up
 * goes through pages that nothing holds to account.
 */

#include <stdbool.h>

#include "base/error.h"
#include "store/disk/incident-rows.h"
#include "store/disk/segment-row.h"

struct index;

/*
 * For writing, the file is made where it is missing, and removed again where that fails half way.
 * For reading, also where WAL cannot be used (read-only mounts), unless there is something in the
 * WAL that could not be seen. -EPROTONOSUPPORT when a newer perftape made it, -ESTALE when an older
 * one did or when it would say what no longer is so; -EBADMSG when it is damaged.
 */
int index_open(const char *path, bool writing, struct index **ret_index, struct error *error);
struct index *index_close(struct index *index);
DEFINE_CLEANUP(index, struct index *, index_close)

/* Of one that was opened for writing: SQLite goes on writing into a file that somebody removed, and
 * says nothing. */
bool index_is_there(const struct index *index);

/* Takes away the files of an index. Nobody may have it open for writing. */
void index_discard(const char *path);

/* What is put and removed until the end is one change: all of it is there, or nothing. */
int index_begin(struct index *index, struct error *error);
int index_commit(struct index *index, struct error *error);
void index_abort(struct index *index);

/* Adds or replaces the rows of that name. busy is what segment_busy() gives; empty: the segment has
 * none of that. */
int index_put(struct index *index, const struct store_segment *segment,
	      const struct incident_rows *incidents, const struct buffer *busy,
	      struct error *error);
/* Takes out the rows of that name, if they are there. */
int index_remove(struct index *index, const char *name, struct error *error);

/* Each in the order of the names; a negative answer ends it and is handed on. -EBADMSG at a row
 * that is damaged. */
int index_segments(struct index *index,
		   int (*see)(void *context, const struct store_segment *segment), void *context,
		   struct error *error);
int index_incidents(struct index *index,
		    int (*see)(void *context, const struct store_incident *incident), void *context,
		    struct error *error);

/*
 * What CPUs were busy in a segment: appended, and 1; 0 where the index has no such row. Looked up
 * by name: what the pages lead to is of that name, or damaged, or not there; then the segment
 * itself is to be asked. Only between index_begin_reading() and index_end_reading().
 */
int index_busy(struct index *index, const char *name, struct buffer *bytes, struct error *error);
int index_begin_reading(struct index *index, struct error *error);
void index_end_reading(struct index *index);

/* All of them, in the order of the names. */
int index_all_busy(struct index *index,
		   int (*see)(void *context, const char *name, const void *data, size_t size),
		   void *context, struct error *error);
