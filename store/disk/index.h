/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The index: a row for each segment, a row for each of its incidents, a row for its busy CPUs, and
 * a row for its outline. It is an SQLite database in WAL mode; only this file pair includes
 * sqlite3.h. The index is a cache of the segments. The writer adds missing rows when it opens the
 * store. A person can delete the file at any time.
 *
 * SQLite does not notice a changed page. So each row carries a checksum, and readers read all rows
 * in the order of their names. Then each row is either right or absent, and the result does not
 * depend on unverified pages.
 */

#include <stdbool.h>

#include "base/error.h"
#include "store/disk/incident-rows.h"
#include "store/disk/segment-row.h"

struct index;

/* The tables that have bytes for each segment. */
enum index_table {
	/* the busy CPUs: the result of segment_busy() */
	INDEX_BUSY,
	/* the outline: the result of segment_outline() */
	INDEX_OUTLINES,
};
#define INDEX_TABLES 2

/* The bytes of a segment; empty if the segment does not have them. */
struct index_bytes {
	struct buffer of[INDEX_TABLES];
};
void index_bytes_done(struct index_bytes *bytes);

/*
 * Opens the index at a path. For writing, creates the file if it does not exist, and removes the
 * new file again after an error. Reading also works where WAL does not (read-only mounts), unless
 * the WAL has content.
 *
 * An index of the version without outlines can be read, but not written.
 *
 * Returns 0; -EPROTONOSUPPORT if a newer perftape wrote the index; -ESTALE if an older one wrote it
 * or if the index is out of date; -EBADMSG if the index is damaged; or another negative errno.
 */
int index_open(const char *path, bool writing, struct index **ret_index, struct error *error);
struct index *index_close(struct index *index);
DEFINE_CLEANUP(index, struct index *, index_close)

/*
 * Returns whether the file of an index that is open for writing still exists. SQLite silently
 * continues to write into a removed file.
 */
bool index_is_there(const struct index *index);

/* Deletes the files of an index. Nobody may have it open for writing. */
void index_discard(const char *path);

/* Groups changes into one transaction: the index gets either all of them or none. */
int index_begin(struct index *index, struct error *error);
int index_commit(struct index *index, struct error *error);
void index_abort(struct index *index);

/*
 * Adds or replaces the rows of a segment.
 */
int index_put(struct index *index, const struct store_segment *segment,
	      const struct incident_rows *incidents, const struct index_bytes *bytes,
	      struct error *error);
/* Removes the rows of a segment, if there are any. */
int index_remove(struct index *index, const char *name, struct error *error);

/*
 * Each of these functions calls see() for each row, in the order of names. A negative result of
 * see() ends the walk, and the function returns it. A damaged row ends the walk with -EBADMSG.
 */
int index_segments(struct index *index,
		   int (*see)(void *context, const struct store_segment *segment), void *context,
		   struct error *error);
int index_incidents(struct index *index,
		    int (*see)(void *context, const struct store_incident *incident), void *context,
		    struct error *error);

/*
 * Appends the bytes of a segment. Returns 1, or 0 if the index does not have the row. A damaged
 * page can hide the row from this lookup by name. After 0, the caller reads the segment itself.
 * Call it only between index_begin_reading() and index_end_reading().
 */
int index_bytes_of(struct index *index, enum index_table table, const char *name,
		   struct buffer *bytes, struct error *error);
int index_begin_reading(struct index *index, struct error *error);
void index_end_reading(struct index *index);

/* Calls see() for all rows of a table, in the order of names. */
int index_all_bytes(struct index *index, enum index_table table,
		    int (*see)(void *context, const char *name, const void *data, size_t size),
		    void *context, struct error *error);
