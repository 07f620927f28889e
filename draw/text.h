/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Text of any bytes in so many columns. What is no UTF-8, moves the cursor, or turns the direction
 * of writing is a `?`; where there is no Unicode, so is what is not ASCII.
 */

#include "base/bytes.h"
#include "draw/terminal.h"

unsigned int text_width(const struct terminal *terminal, const char *text);
/* Exactly so many columns: what is longer ends with "..", what is shorter with blanks. */
void text_put(const struct terminal *terminal, const char *text, unsigned int width,
	      struct buffer *to);
/* The same without blanks at the end. The number of columns that were used. */
unsigned int text_put_short(const struct terminal *terminal, const char *text, unsigned int width,
			    struct buffer *to);
/* The same, but what is left out is in the middle: names differ at their ends. */
unsigned int text_put_middle(const struct terminal *terminal, const char *text, unsigned int width,
			     struct buffer *to);
/* Lines, broken between words where they are too long, and in what is wider than a line; each with
 * a newline. The number of lines. */
unsigned int text_put_lines(const struct terminal *terminal, const char *text, struct buffer *to);
/* The same behind what takes so many columns of the first one. */
unsigned int text_put_lines_after(const struct terminal *terminal, unsigned int used,
				  const char *text, struct buffer *to);
