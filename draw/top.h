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
	/* The number of rows of each section; 0: as many as the terminal has lines for. */
	size_t rows;
	/* The screen is drawn each second: its columns stay, however long the names are. */
	bool live;
};

/*
 * Draws the groups of the ranking. If the groups are by name, also draws CPUs and functions; if
 * they are by function, draws only functions.
 *
 * If `rows` is 0, draws at most as many lines as the terminal has, with one left for the prompt.
 * Each section has at least one row. Without a terminal, a section has at most 20 rows.
 */
void top_draw(const struct top_screen *screen, const struct terminal *terminal,
	      struct buffer *text);
