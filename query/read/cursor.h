/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Walks the samples of a window that pass a filter. The cursor returns the samples in the order of
 * the wall clock, over all CPUs, segments and boots, sealed or not. It opens one segment after the
 * other, and several at once only if their times overlap. Memory use therefore does not grow with
 * the window.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/read/loader.h"
#include "store/read/store-reader.h"
#include "tape/tape.h"

struct cursor;

/* Valid until the next call. cursor_keep_tape() extends the lifetime of the tape. */
struct cursor_row {
	uint64_t realtime_ns;
	/* contains only the samples of this walk, in the same order */
	struct tape *tape;
	/* index into the tape's samples */
	uint32_t sample;
	/* number of the tape in the order of opening */
	uint32_t number;
};

/*
 * Opens a cursor. The reader and the pointers in the question must outlive it. Returns 0, or a
 * negative errno with a message.
 */
int cursor_open(struct store_reader *reader, const struct question *question,
		struct cursor **ret_cursor, struct error *error);
struct cursor *cursor_close(struct cursor *cursor);
DEFINE_CLEANUP(cursor, struct cursor *, cursor_close)
/*
 * Sets the number of segments that the cursor reads in parallel. Useful only for a caller that
 * keeps all tapes. Returns 0 or -ENOMEM.
 */
int cursor_set_threads(struct cursor *cursor, unsigned int threads);

/*
 * Returns 1 with a row, 0 at the end, or a negative errno. Skips segments that cannot be read; the
 * coverage reports these segments.
 */
int cursor_next(struct cursor *cursor, struct cursor_row *ret_row, struct error *error);

/*
 * Skips to the first remaining row at or after a moment. The cursor reads segments before the
 * moment only for their losses.
 */
void cursor_skip_to(struct cursor *cursor, uint64_t realtime_ns);

/*
 * Passes ownership of the last row's tape to the caller, who frees it after the cursor has ended or
 * is closed.
 */
void cursor_keep_tape(struct cursor *cursor);

/*
 * Returns how much of the window is known; complete once cursor_next() has returned 0. Its frame
 * counts cover the samples read so far. Valid until the cursor is closed.
 */
const struct coverage *cursor_coverage(const struct cursor *cursor);

/* Returns the number of segments read so far. */
size_t cursor_segments_read(const struct cursor *cursor);
