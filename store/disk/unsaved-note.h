/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The note that a recorder writes at its end if it could not store all samples. The usual reason is
 * a full disk, so the recorder reserves disk space for the note at its start. The note is a file
 * with one record like those of the notes. The file stays until a writer has recovered the rest of
 * the spool. The holder of the store's lock writes the file.
 */

#include "base/error.h"
#include "store/disk/store-unsaved.h"

/*
 * Reserves the disk space, unless the file holds a note that nobody has reported yet. Ignores
 * errors, because a lack of the space affects only the note.
 */
void unsaved_note_prepare(const char *path);
/* Removes the file, unless it holds a note. */
void unsaved_note_done(const char *path);

/* Writes the note. Returns 0 or a negative errno. */
int unsaved_note_write(const char *path, const struct store_unsaved *unsaved);
/* Deletes the note. Call it after reporting the note. */
void unsaved_note_clear(const char *path);
/* Reads the note. Returns 1, or 0 if it does not exist. */
int unsaved_note_read(const char *path, struct store_unsaved *ret_unsaved);
