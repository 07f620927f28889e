/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Lines that begin with a label, as the screens of `explain` have them. A line is said piece by
 * piece, and then ended behind its label. Its text wraps beside the label.
 */

#include <stdbool.h>

#include "base/bytes.h"
#include "draw/terminal.h"

/* The columns of a label, and the indent of the text. */
#define LABELLED_LINES_INDENT 9

struct labelled_lines {
	const struct terminal *terminal;
	struct buffer *to;
	/* The text of the line under construction; zeroed to start. */
	struct buffer line;
	/* A line takes at most this number of rows of the terminal; 0: what it needs. */
	unsigned int most;
};

void labelled_lines_say(struct labelled_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Puts the line behind a label, and empties it. Marks `to` as failed if memory ran out. */
void labelled_lines_end(struct labelled_lines *lines, const char *label, enum terminal_style style);
/*
 * Puts a last line, which says that the screen is shorter than the answer. Call it before
 * labelled_lines_done().
 */
void labelled_lines_say_short(struct labelled_lines *lines);
/*
 * Returns whether the text from `begin` on has too many rows for the terminal, of which `below`
 * follow the text, and the last one is the prompt's.
 */
bool labelled_lines_is_tall(const struct labelled_lines *lines, size_t begin, unsigned int below);
void labelled_lines_done(struct labelled_lines *lines);
