/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The busiest CPUs, threads and functions on one screen. */

#include "draw/terminal.h"
#include "query/sums/ranking.h"

struct top_screen {
	/* what it is of: lines of any length */
	const char *head;
	const struct ranking *ranking;
	/* that will be said once it is drawn, on the same terminal */
	unsigned int lines_below;
};

/* No more lines than the terminal has, one of them the prompt's, but three rows of each at the
 * least; 24 where there is no terminal. */
void top_draw(const struct top_screen *screen, const struct terminal *terminal,
	      struct buffer *text);
