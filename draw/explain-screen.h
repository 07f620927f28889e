/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The answer of `explain` as one screen: a label in the first columns, and wrapped text. */

#include "draw/terminal.h"
#include "query/explain/explain.h"

struct explain_screen {
	const struct explain *explain;
	/* the host's name with a blank behind it, or "" */
	const char *host;
	/* the option that names the store, such as "--store /x "; or "" */
	const char *store;
	bool utc;
	/* rows that follow the screen */
	unsigned int rows_below;
};

/* Draws the answer, in as short a form as the terminal's height needs. */
void explain_screen_draw(const struct explain_screen *screen, const struct terminal *terminal,
			 struct buffer *text);
