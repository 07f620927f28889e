/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Samples that were taken and could not be stored: one loss of kind unsaved, until a segment tells
 * of it. What is left of it when the recording ends is said in the store's last words, which the
 * next recorder finds, and who asks before. Zeroed, with a count of 0, it is nothing.
 */

#include "store/write/store-writer.h"
#include "tape/tape.h"

/* So many samples of that time more; of none there was time all the same. */
void unsaved_add(struct tape_loss *unsaved, uint64_t from_ns, uint64_t to_ns, uint64_t samples);
/* What of a tape that will not be sealed lies behind the end of the spool. */
void unsaved_behind(struct tape_loss *unsaved, const struct tape *tape, uint64_t spooled_ns);

/*
 * Writes the loss into the last words, with its time of the wall clock and how the recording ended.
 * Writes nothing when nothing was lost, or when no anchor tells the wall clock (wall_from_ns is 0):
 * then this recorder took nothing, and the words of the recorder before it stay.
 */
void unsaved_leave(const struct tape_loss *unsaved, uint64_t wall_from_ns, uint64_t wall_to_ns,
		   const char *ended, struct store_writer *writer);
/* What the recorder before us left to be told, if its clock is that of this boot; else it is told
 * of by its words alone. */
struct tape_loss unsaved_before(const struct store_writer *writer, const char *boot_id);
