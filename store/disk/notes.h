/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What belongs to no segment: incidents that were added afterwards, marks, pins, what was imported,
 * what a recorder was told. A file of checksummed records that only grows; several processes may
 * append to it, beside the writer. A record is a kind, a moment of the wall clock, and texts under
 * names.
 */

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

enum notes_kind {
	/* incident-notes.h; its moment is the incident's */
	NOTES_INCIDENT = 1,
	NOTES_MARK = 2,
	/* "from_ns", "to_ns", "until_ns" */
	NOTES_PIN = 3,
	NOTES_SETTINGS = 4,
	NOTES_IMPORT = 5,
	/* "pid", "text"; only in a file of its own: what a recorder tells of itself */
	NOTES_STATUS = 6,
	/* "below": all numbers of incidents below that are given away */
	NOTES_IDS = 7,
	/* of the file of what is gone (store/disk/removed-ranges.h): "from_ns", "to_ns" */
	NOTES_REMOVED = 8,
	NOTES_VANISHED = 9,
	/* only in a file of its own: store/disk/unsaved-note.h */
	NOTES_LAST_WORDS = 10,
};

struct notes_field {
	const char *name;
	/* without a NUL in it */
	const char *value;
};

struct note {
	/* unknown ones are kept and skipped */
	uint32_t kind;
	uint64_t realtime_ns;
	const struct notes_field *fields;
	size_t field_count;
};

/* "" where the note does not have that field. */
const char *note_field(const struct note *note, const char *name);
/* A decimal number; `otherwise` where the note does not have that field. */
uint64_t note_u64(const struct note *note, const char *name, uint64_t otherwise);

/* One record as bytes; the names and values may not be over 64 KB together: -E2BIG. */
int notes_encode(const struct note *note, struct buffer *bytes);

/*
 * Gives the sound records out of bytes, in order, each valid until the next; a negative answer ends
 * it. What is between them is damage: *ret_damaged is how many stretches of it there were, a record
 * that is cut off at the end included. 0, -ENOMEM, or what `see` said.
 */
int notes_decode(const void *data, size_t size, int (*see)(void *context, const struct note *note),
		 void *context, uint64_t *ret_damaged);

/* Appends a record to the store's notes and waits until it is on the disk. One at a time, over all
 * processes. */
int notes_append(const char *store, const struct note *note, struct error *error);
/* The same of records that are encoded, all at once. */
int notes_append_encoded(const char *store, const struct buffer *records, struct error *error);
/* The same of what `make` says once `see` was given all that is there already: nobody else appends
 * meanwhile. */
int notes_append_after(const char *store, int (*see)(void *context, const struct note *note),
		       void (*make)(void *context, struct note *ret_note), void *context,
		       struct error *error);
/* Reads the store's notes; none is no error. */
int notes_read(const char *store, int (*see)(void *context, const struct note *note), void *context,
	       uint64_t *ret_damaged, struct error *error);
/* The same of another file of such records. */
int notes_read_file(const char *store, const char *name,
		    int (*see)(void *context, const struct note *note), void *context,
		    uint64_t *ret_damaged, struct error *error);

/*
 * Leaves only sound records in the notes. The bytes that are none go behind what is in
 * "notes.damaged", and are on the disk there before they are taken out; *ret_bytes is how many they
 * were.
 */
int notes_repair(const char *store, uint64_t *ret_bytes, struct error *error);
