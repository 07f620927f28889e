/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The notes hold everything that does not belong to a segment: later incidents, marks, pins,
 * imports, and the recorder's settings. The file consists of checksummed records and only grows.
 * Several processes may append to it, also beside the writer. A record has a kind, a moment of the
 * wall clock, and named texts.
 */

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

enum notes_kind {
	/* See incident-notes.h. The note's moment is that of the incident. */
	NOTES_INCIDENT = 1,
	NOTES_MARK = 2,
	/* Fields "from_ns", "to_ns", "until_ns". */
	NOTES_PIN = 3,
	NOTES_SETTINGS = 4,
	NOTES_IMPORT = 5,
	/*
	 * Fields "pid", "text". The status of a recorder, in a file of its own
	 * (store/disk/status-file.h).
	 */
	NOTES_STATUS = 6,
	/* Field "below": all numbers of incidents below this one are assigned. */
	NOTES_IDS = 7,
	/*
	 * Fields "from_ns", "to_ns". Only in the file of removed ranges
	 * (store/disk/removed-ranges.h).
	 */
	NOTES_REMOVED = 8,
	NOTES_VANISHED = 9,
	/* The note of unsaved samples, in a file of its own (store/disk/unsaved-note.h). */
	NOTES_UNSAVED = 10,
};

struct notes_field {
	const char *name;
	/* The value contains no NUL. */
	const char *value;
};

struct note {
	/* Readers skip unknown kinds, and repairs keep them. */
	uint32_t kind;
	uint64_t realtime_ns;
	const struct notes_field *fields;
	size_t field_count;
};

/* Returns the value of a field, or "" if the note does not have it. */
const char *note_field(const struct note *note, const char *name);
/* Returns a field as a decimal number, or `fallback` if the note does not have it. */
uint64_t note_u64(const struct note *note, const char *name, uint64_t fallback);

/*
 * Appends a record as bytes. Returns 0, -E2BIG if names and values exceed 64 KB together, or
 * -ENOMEM.
 */
int notes_encode(const struct note *note, struct buffer *bytes);

/*
 * Calls see() for each sound record, in order. A note is valid during the call. A negative result
 * of see() ends the walk. *ret_damaged is the number of damaged stretches between records,
 * including a truncated record at the end. Returns 0, -ENOMEM, or the result of see().
 */
int notes_decode(const void *data, size_t size, int (*see)(void *context, const struct note *note),
		 void *context, uint64_t *ret_damaged);

/*
 * Appends a record to the store's notes and waits until it is on the disk. A lock serializes all
 * processes.
 */
int notes_append(const char *store, const struct note *note, struct error *error);
/* Appends several encoded records at once, like notes_append(). */
int notes_append_encoded(const char *store, const struct buffer *records, struct error *error);
/*
 * Calls see() for all notes, then make() for a new note, and appends the new note. Other processes
 * cannot append meanwhile.
 */
int notes_append_after(const char *store, int (*see)(void *context, const struct note *note),
		       void (*make)(void *context, struct note *ret_note), void *context,
		       struct error *error);
/* Reads the store's notes with see(). A missing file is not an error. */
int notes_read(const char *store, int (*see)(void *context, const struct note *note), void *context,
	       uint64_t *ret_damaged, struct error *error);
/* Reads another file of such records, like notes_read(). */
int notes_read_file(const char *store, const char *name,
		    int (*see)(void *context, const struct note *note), void *context,
		    uint64_t *ret_damaged, struct error *error);

/* The maximum size of notes that a reader accepts: enough for decades of incidents. */
#define NOTES_MAX (8u << 20)
/*
 * Makes notes beyond NOTES_MAX readable again: moves the file to "notes.long", in place of an
 * earlier one, and keeps the sound records of the last NOTES_MAX / 2 bytes. Returns 1 if it moved
 * the file, 0 if the notes are within NOTES_MAX, or a negative errno.
 */
int notes_shorten(const char *store, struct error *error);

/*
 * Leaves only sound records in the notes. Appends all other bytes to "notes.damaged", and syncs
 * that file before removing these bytes from the notes. *ret_bytes is the number of removed bytes.
 */
int notes_repair(const char *store, uint64_t *ret_bytes, struct error *error);
