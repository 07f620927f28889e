/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The samples that were taken and could not be stored are one loss of kind unsaved, until a segment
 * holds it. At the end of the recording, the rest goes into a note in the store. The next recorder
 * and queries read that note. A zeroed loss, with count 0, means that no samples are unsaved.
 */

#include "store/write/store-writer.h"
#include "tape/tape.h"

/*
 * Extends the loss by a time and its samples. Counts at least 1, because time was lost even without
 * samples.
 */
void unsaved_add(struct tape_loss *unsaved, uint64_t from_ns, uint64_t to_ns, uint64_t samples);
/* Adds the part of an unsaved tape that lies after the end of the spool. */
void unsaved_add_tape(struct tape_loss *unsaved, const struct tape *tape, uint64_t spooled_ns);

/*
 * Writes the loss into the store's note, with its wall-clock time and how the recording ended.
 * Writes nothing without a loss, or if wall_from_ns is 0. Without an anchor this recorder took no
 * samples, so the note of the recorder before it stays.
 */
void unsaved_write_note(const struct tape_loss *unsaved, uint64_t wall_from_ns, uint64_t wall_to_ns,
			const char *ended, struct store_writer *writer);
/* Returns the loss in the note of the recorder before us, or none if that is of another boot. */
struct tape_loss unsaved_read_note(const struct store_writer *writer, const char *boot_id);
