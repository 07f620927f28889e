/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What a heat map marks: each episode of a window once, where its first line in there is. A kill
 * for want of memory has three lines, a night of resets thousands. */

#include "cli/window/incident-book.h"
#include "draw/heat-map.h"
#include "query/window/window.h"

struct heat_marks_extent {
	/* its last line in the window */
	uint64_t until_ns;
	uint64_t lines;
	/* the text is of a line of the kind that the episode is called by */
	bool named;
};

struct heat_marks {
	/* by time; their texts are ours */
	array_of(struct heat_mark) list;
	/* one each */
	array_of(struct heat_marks_extent) extents;
};

/* 0 or -ENOMEM; heat_marks_done() in either case. */
int heat_marks_make(const struct book *book, const struct window *window,
		    struct heat_marks *ret_marks);
void heat_marks_done(struct heat_marks *marks);
/* A line each. */
void heat_marks_put_json(const struct heat_marks *marks, struct buffer *json);
