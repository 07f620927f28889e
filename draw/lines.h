/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Fits lines of text into a terminal. A line breaks between fields: after a word that ends in a
 * semicolon or a comma, and at two blanks. A field that is wider than a line breaks between words.
 * A word stays whole, even if it is wider than a line, and a number stays with the word after it.
 */

#include "base/bytes.h"
#include "draw/terminal.h"

/* The indent of lines that continue a line of an answer's head. */
#define HEAD_INDENT 2

struct lines_shape {
	/* Number of columns of the first line that are already in use. */
	unsigned int used;
	/* Number of blanks in front of a line that continues another. */
	unsigned int indent;
	/* Breaks between any two words, not only between fields. */
	bool prose;
};

/*
 * Puts lines, each with a newline. A newline in the text begins a line without indent. If
 * terminal->wrap is 0, lines do not break. Replaces characters as draw/text.h describes. Returns
 * the number of lines on the terminal.
 */
unsigned int lines_put(const struct terminal *terminal, struct lines_shape shape, const char *text,
		       struct buffer *to);
/*
 * Puts a shell command, with a newline. The command breaks at blanks outside of quotes. Each line
 * but the last then ends with a backslash, and the line after it begins with the indent.
 */
void lines_put_command(const struct terminal *terminal, struct lines_shape shape,
		       const char *command, struct buffer *to);
