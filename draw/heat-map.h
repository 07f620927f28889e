/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A grid of CPU time in the terminal, no higher than that is. Fractions of a second: how many CPUs
 * were busy, the first fraction at the bottom. CPUs: how busy each was, with what mostly; a
 * saturated one is a solid line, also where a row has to be of several.
 */

#include "draw/terminal.h"
#include "query/sums/heat.h"

struct heat_mark {
	/* of the wall clock */
	uint64_t time_ns;
	const char *what;
};

struct heat_picture {
	const struct heat *heat;
	/* what it is of: lines of any length */
	const char *head;
	/* by time */
	const struct heat_mark *marks;
	size_t mark_count;
	/* the moment that was asked for, or 0 */
	uint64_t at_ns;
	bool utc;
	/* that will be said once it is drawn, on the same terminal */
	unsigned int lines_below;
};

/* How many columns of a grid there is room for, and how many fractions of a second are to be read:
 * as many as fit are made of them. */
uint32_t heat_columns_max(const struct terminal *terminal, enum heat_rows by);
uint32_t heat_fractions(void);

void heat_draw(const struct heat_picture *picture, const struct terminal *terminal,
	       struct buffer *text);
