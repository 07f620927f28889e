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
/* Puts exactly `width` columns: pads with blanks, or shortens as text_put_short() does. */
void text_put(const struct terminal *terminal, const char *text, unsigned int width,
	      struct buffer *to);
/*
 * Puts at most `width` columns. ".." replaces the last words. If the first word does not fit, puts
 * only this word, and ".." replaces its middle. Returns the columns used.
 */
unsigned int text_put_short(const struct terminal *terminal, const char *text, unsigned int width,
			    struct buffer *to);
/*
 * Puts at most `width` columns; ".." replaces the middle, because names differ at their ends.
 * Returns the columns used.
 */
unsigned int text_put_middle(const struct terminal *terminal, const char *text, unsigned int width,
			     struct buffer *to);
/*
 * Puts the functions of a path such as "main;serve;read", the leaf first. A text that is too wide
 * then loses its outermost callers.
 */
void text_put_path(const char *path, struct buffer *to);
