/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The marks of a heat map: one for each episode, at its first line in the window. Lines alone would
 * be too many: an OOM kill has three, a night of resets thousands.
 */

#include "cli/window/incident-book.h"
#include "draw/heat-map.h"
#include "query/window/window.h"

struct heat_marks_extent {
	/* The time of the episode's last line in the window. */
	uint64_t until_ns;
	uint64_t lines;
	/* The text is from a line whose kind is that of the episode. */
	bool named;
};

struct heat_marks {
	/* Sorted by time; owns the texts. */
	array_of(struct heat_mark) list;
	/* One extent for each mark. */
	array_of(struct heat_marks_extent) extents;
};

/* Returns 0 or -ENOMEM. The caller calls heat_marks_done() in either case. */
int heat_marks_make(const struct book *book, const struct window *window,
		    struct heat_marks *ret_marks);
void heat_marks_done(struct heat_marks *marks);
/* Puts a line for each mark. */
void heat_marks_put_json(const struct heat_marks *marks, struct buffer *json);
