/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The samples that the recorder took and could not store. They are one loss of kind unsaved, until
 * a segment has that loss. At the end of the recording, the rest goes into a note in the store,
 * which the next recorder and queries read. A zeroed loss, with count 0, means that no samples are
 * unsaved.
 */

#include "store/write/store-writer.h"
#include "tape/tape.h"

/*
 * Extends the loss by a time and its samples. Adds at least 1 to the count, because time was lost
 * even without samples.
 */
void unsaved_add(struct tape_loss *unsaved, uint64_t from_ns, uint64_t to_ns, uint64_t samples);
/* Adds the part of an unsaved tape that lies after the end of the spool. */
void unsaved_add_tape(struct tape_loss *unsaved, const struct tape *tape, uint64_t spooled_ns);

/*
 * Writes the loss into the store's note, with its wall-clock time and how the recording ended. Does
 * not write if the loss is zeroed. Does not write if wall_from_ns is 0, either: without an anchor
 * this recorder did not take samples, so the note of the earlier recorder stays.
 */
void unsaved_write_note(const struct tape_loss *unsaved, uint64_t wall_from_ns, uint64_t wall_to_ns,
			const char *ended, struct store_writer *writer);
/*
 * Returns the loss in the note of the earlier recorder; a zeroed loss if that recorder ran in
 * another boot.
 */
struct tape_loss unsaved_read_note(const struct store_writer *writer, const char *boot_id);
