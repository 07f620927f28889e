/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The note that a recorder writes at its end if it could not store all samples. The usual reason is
 * a full disk, so the recorder reserves disk space for the note at its start. It is a file with one
 * record like those of the notes. The file stays until the rest of the spool is recovered. The
 * holder of the store's lock writes it.
 */

#include "base/error.h"
#include "store/disk/store-unsaved.h"

/*
 * Reserves the disk space, unless there is a note that was not reported yet. Ignores errors:
 * without the reserved space, only the note may fail.
 */
void unsaved_note_prepare(const char *path);
/* Removes the file, unless it holds a note. */
void unsaved_note_done(const char *path);

/* Writes the note. Returns 0 or a negative errno. */
int unsaved_note_write(const char *path, const struct store_unsaved *unsaved);
/* Deletes the note after it was reported. */
void unsaved_note_clear(const char *path);
/* Reads the note. Returns 1, or 0 if it does not exist. */
int unsaved_note_read(const char *path, struct store_unsaved *ret_unsaved);
