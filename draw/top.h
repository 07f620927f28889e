/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Draws the busiest CPUs, threads and functions on one screen. */

#include "draw/terminal.h"
#include "query/sums/ranking.h"

struct top_screen {
	/* Lines of any length that say which CPUs were full. */
	const char *first;
	/* Lines of any length that describe the window. */
	const char *head;
	const struct ranking *ranking;
	/* The number of lines that the caller prints below the screen. */
	unsigned int lines_below;
};

/*
 * Draws at most as many lines as the terminal has, with one left for the prompt, but at least one
 * row of each section. Assumes 24 lines without a terminal.
 */
void top_draw(const struct top_screen *screen, const struct terminal *terminal,
	      struct buffer *text);
