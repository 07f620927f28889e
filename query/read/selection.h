/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * All samples of a window in memory, for answers that read them twice. A selection has the rows of
 * a cursor, tapes that contain only selected samples, and the coverage.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "query/coverage/coverage.h"
#include "query/read/cursor.h"
#include "query/window/window.h"
#include "tape/tape.h"

struct selection_row {
	uint64_t realtime_ns;
	/* index into tapes */
	uint32_t tape;
	/* index into the tape's samples */
	uint32_t sample;
};

struct selection {
	struct window window;
	/* only tapes that have a row */
	array_of(struct tape *) tapes;
	array_of(struct selection_row) rows;
	struct coverage coverage;
	/* number of segments read */
	size_t opened;
};

/*
 * Returns 0 even if nothing was recorded; rows.count is then 0, and coverage.covered_ns shows
 * whether anything was covered. Damaged segments are left out and reported in the coverage.
 */
int selection_make(struct store_reader *reader, const struct question *question,
		   struct selection **ret_selection, struct error *error);
struct selection *selection_free(struct selection *selection);
DEFINE_CLEANUP(selection, struct selection *, selection_free)
