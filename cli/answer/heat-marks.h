/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What a heat map marks: each episode of a window once, where its first line in there is. A kill for want of memory has three lines, a night of resets thousands. */

#include "cli/window/incident-book.h"
#include "draw/heat-map.h"
#include "query/window/window.h"

struct heat_marks_extent {
	uint64_t until_ns; /* its last line in the window */
	uint64_t lines;
	bool named; /* the text is of a line of the kind that the episode is called by */
};

struct heat_marks {
	array_of(struct heat_mark) list; /* by time; their texts are ours */
	array_of(struct heat_marks_extent) extents; /* one each */
};

/* 0 or -ENOMEM; heat_marks_done() in either case. */
int heat_marks_make(
	const struct book *book, const struct window *window, struct heat_marks *ret_marks);
void heat_marks_done(struct heat_marks *marks);
/* A line each. */
void heat_marks_put_json(const struct heat_marks *marks, struct buffer *json);
