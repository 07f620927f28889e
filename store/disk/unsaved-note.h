/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What a recorder says at its end that could not store all it took: mostly because the disk is
 * full, so the room for it is taken at the start. It stands in a file of one record like those of
 * the notes, until what was left in the spool is recovered; whoever holds the store's lock writes
 * it.
 */

#include "base/error.h"
#include "store/disk/store-unsaved.h"

/* Takes the room, unless there are words that were not heard yet. What fails is only worse words.
 */
void unsaved_note_prepare(const char *path);
/* The file away, or with words in it left as it is. */
void unsaved_note_done(const char *path);

/* 0 or a negative errno. */
int unsaved_note_write(const char *path, const struct store_unsaved *left);
/* They were heard. */
void unsaved_note_clear(const char *path);
/* 1, or 0 when there are none. */
int unsaved_note_read(const char *path, struct store_unsaved *ret_left);
