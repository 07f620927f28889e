/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Walks the samples of a window that pass a filter, in the order of the wall clock over all CPUs,
 * segments and boots, sealed or not. Segments are opened one after the other: two or more at once
 * only where they claim the same time. So memory follows what is open, not the window.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"
#include "tape/tape.h"

struct cursor;

/* Valid until the next call, and the tape longer when it is kept. */
struct cursor_row {
	uint64_t realtime_ns;
	/* with no other samples than those of the walk, in its order */
	struct tape *tape;
	/* of the tape */
	uint32_t sample;
	/* of the tape, in the order of opening */
	uint32_t number;
};

/* The reader and what the question borrows must live as long as the cursor. */
int cursor_open(struct store_reader *reader, const struct question *question,
		struct cursor **ret_cursor, struct error *error);
struct cursor *cursor_close(struct cursor *cursor);
DEFINE_CLEANUP(cursor, struct cursor *, cursor_close)
/* From now on so many segments are read side by side, for who keeps all tapes anyway. 0 or -ENOMEM.
 */
int cursor_read_together(struct cursor *cursor, unsigned int threads);

/* 1 with a row, 0 at the end. What cannot be read is passed over, and told by the coverage. */
int cursor_next(struct cursor *cursor, struct cursor_row *ret_row, struct error *error);

/* The next row is the first that is left at or after a moment. Of segments before it only the
 * losses are read. */
void cursor_near(struct cursor *cursor, uint64_t realtime_ns);

/* The tape of the last row is the caller's from now on, who frees it when the cursor is at its end
 * or closed. */
void cursor_keep(struct cursor *cursor);

/* How much of the window is known; of all of it once cursor_next() gave 0. Its frames are those of
 * the samples that were read. */
const struct coverage *cursor_coverage(const struct cursor *cursor);

/* How many segments were read so far. */
size_t cursor_opened(const struct cursor *cursor);
