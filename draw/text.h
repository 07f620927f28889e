/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Fits text of any bytes into columns. A ? replaces bytes that are not UTF-8, and characters that
 * move the cursor or change the direction of writing. Without Unicode, it also replaces characters
 * that are not ASCII.
 */

#include "base/bytes.h"
#include "draw/terminal.h"

unsigned int text_width(const struct terminal *terminal, const char *text);
/* Puts exactly `width` columns: pads with blanks, or truncates and ends with "..". */
void text_put(const struct terminal *terminal, const char *text, unsigned int width,
	      struct buffer *to);
/* Puts at most `width` columns; a truncated text ends with "..". Returns the columns used. */
unsigned int text_put_short(const struct terminal *terminal, const char *text, unsigned int width,
			    struct buffer *to);
/*
 * Puts at most `width` columns; ".." replaces the middle, because names differ at their ends.
 * Returns the columns used.
 */
unsigned int text_put_middle(const struct terminal *terminal, const char *text, unsigned int width,
			     struct buffer *to);
