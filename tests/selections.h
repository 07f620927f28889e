/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Selections for tests of writers, made of tapes in memory, without a store. */

#include "base/file.h"
#include "query/text/output.h"
#include "query/read/selection.h"
#include "tests/tapes.h"

/*
 * Takes ownership of the tape and adds all of its samples. Tapes come in order of time. The caller
 * sets the window.
 */
static inline void selections_add(struct selection *selection, struct tape *tape)
{
	CHECK_EQ(array_push(&selection->tapes, tape), 0);
	for (size_t i = 0; i < tape->samples.count; i++)
		CHECK_EQ(array_push(&selection->rows,
				    (struct selection_row){
					    .realtime_ns = tape_to_realtime(
						    tape, tape->samples.items[i].time_ns, NULL),
					    .tape = selection->tapes.count - 1,
					    .sample = i }),
			 0);
}

/* Makes a covered window of [from, to) seconds after TAPES_REALTIME. */
static inline struct selection *selections_new(double from, double to)
{
	struct selection *selection = calloc(1, sizeof(*selection));

	CHECK(selection);
	selection->window.from_ns = TAPES_REALTIME + (int64_t)(from * 1e9);
	selection->window.to_ns = TAPES_REALTIME + (int64_t)(to * 1e9);
	selection->coverage.window_ns = selection->window.to_ns - selection->window.from_ns;
	selection->coverage.covered_ns = selection->coverage.window_ns;
	return selection;
}

/*
 * Returns a writer's output as text, which the caller frees. WRITE is an expression that uses
 * `output`.
 */
#define SELECTIONS_TEXT(WRITE)                                           \
	({                                                               \
		_cleanup_(tapes_store_done) struct tapes_store _folder;  \
		struct output _output, *output = &_output;               \
		char _path[128], *_text = NULL;                          \
		tapes_store_init(&_folder);                              \
		snprintf(_path, sizeof(_path), "%s/text", _folder.path); \
		CHECK_EQ(output_open(output, _path, false, NULL), 0);    \
		CHECK_EQ(WRITE, 0);                                      \
		CHECK_EQ(output_commit(output, NULL), 0);                \
		CHECK_EQ(file_read(_path, 256 << 20, &_text, NULL), 0);  \
		_text;                                                   \
	})
