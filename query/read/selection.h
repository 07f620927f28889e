/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The samples of a window all at once, for what has to look at them twice: a cursor's rows, its
 * tapes with no other samples, and how much of the window is known.
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
	/* index into its samples */
	uint32_t sample;
};

struct selection {
	struct window window;
	/* that have a row */
	array_of(struct tape *) tapes;
	array_of(struct selection_row) rows;
	struct coverage coverage;
	/* segments that were read */
	size_t opened;
};

/*
 * 0, also when nothing was recorded: rows.count is 0 then, and coverage.covered_ns tells whether
 * anything was covered. Damaged segments are left out and reported in the coverage.
 */
int selection_make(struct store_reader *reader, const struct question *question,
		   struct selection **ret_selection, struct error *error);
struct selection *selection_free(struct selection *selection);
DEFINE_CLEANUP(selection, struct selection *, selection_free)
