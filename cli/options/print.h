/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The only functions that write to standard output and standard error, besides query/text/output
 * for answers. The text passes base/foreign, even if the caller has already cleaned foreign text.
 * `house outlets` refuses any other call that prints.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/bytes.h"

/*
 * Cleans the text in its place and prints it. With `styles`, colours stay. Returns 0, or a negative
 * errno: -ENOMEM if the text is incomplete.
 */
int print_text(FILE *stream, struct buffer *text, bool styles);
/* Prints a text of the program itself, as it is. */
int print_string(FILE *stream, const char *text);
/* Prints a clean line on standard error, in two parts and with a newline. Takes no memory. */
int print_message(const char *before, const char *text);
/*
 * Cleans a text in its place and prints it over the last line of standard error, padded with blanks
 * to `width` columns. The cursor stays in that line.
 */
void print_over(char *text, int width);
