/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The marks of a picture of a window: one mark for each episode that touches the window. A mark is
 * at the episode's first line, and states the begin of the stall. A mark for each line would be too
 * many: an OOM kill has three lines, a night of resets thousands.
 */

#include "cli/window/incident-book.h"
#include "draw/mark-line.h"
#include "query/window/window.h"

struct incident_marks_extent {
	/* The time of the episode's last line that touches the window. */
	uint64_t until_ns;
	uint64_t lines;
	/* The text is from a line whose kind is that of the episode. */
	bool named;
};

struct incident_marks {
	/* Sorted by time; owns the texts. */
	array_of(struct mark) list;
	/* One extent for each mark. */
	array_of(struct incident_marks_extent) extents;
};

/* Makes the marks. Returns 0 or -ENOMEM. The caller calls incident_marks_done() in either case. */
int incident_marks_make(const struct book *book, const struct window *window,
			struct incident_marks *ret_marks);
void incident_marks_done(struct incident_marks *marks);
/* Puts a line for each mark. */
void incident_marks_put_json(const struct incident_marks *marks, struct buffer *json);
