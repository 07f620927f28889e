/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The side of the store that writes: one at a time for each store, known by a lock with its pid.
 *
 * A sealed segment is on the disk when store_writer_seal() returns: written, synced, renamed, its folder synced, and then
 * indexed. When only the index fails the segment is safe all the same and a later open finds it.
 */

#include "base/error.h"
#include "tape/tape.h"

struct store_writer;

/* Makes the folder where it is missing. -EBUSY names the pid of the writer that is there. */
int store_writer_open(const char *path, struct store_writer **ret_writer, struct error *error);
struct store_writer *store_writer_close(struct store_writer *writer);
DEFINE_CLEANUP(store_writer, struct store_writer *, store_writer_close)

/*
 * Sorts the samples and makes a segment of the tape; ret_bytes may be NULL. The tape stays the caller's. A tape of this boot (its fact
 * "boot_id") gets the next sequence number; any other one keeps its own, and takes the place of a segment of that identity.
 * 0; 1 when the segment is safe, but could not be indexed: the text says why, and the next call tries again.
 */
int store_writer_seal(
	struct store_writer *writer, struct tape *tape, uint64_t *ret_bytes, struct error *error);

/* What was imported is known by a name of the caller's, without a slash. 1 when it is there, else 0. */
int store_writer_imported(struct store_writer *writer, const char *id);
/* Remembers it, with a line on what it was. */
int store_writer_note_import(
	struct store_writer *writer, const char *id, const char *line, struct error *error);
