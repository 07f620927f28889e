/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Text that others chose: names of processes, files, cgroups and functions, lines of logs, facts of
 * tapes. Shown as it is, it could move the cursor, change colours, rename the terminal's window, or
 * look like another name. This file alone knows which characters a person must not be shown:
 *
 *   control characters (C0, DEL, C1), those that change the direction of writing, those without
 *   width, U+FEFF, characters that are none, and bytes that are not UTF-8.
 *
 * A `?` replaces each of them. `house outlets` checks that the program prints through it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Not a character: bytes that are not UTF-8. */
#define FOREIGN_BROKEN UINT32_MAX

/*
 * Returns the size of the first character, and its code. Bytes that are not UTF-8 have the code
 * FOREIGN_BROKEN, and the size of what a decoder replaces by one U+FFFD. Returns 0 only for size 0.
 */
size_t foreign_take(const char *text, size_t size, uint32_t *ret_code);
/* Returns whether a person must not be shown the character. */
bool foreign_is_hidden(uint32_t code);

/* Puts one line of foreign text. */
void foreign_put(struct buffer *to, const char *text, size_t size);
/*
 * Puts a value of comma-separated values, quoted if necessary. A quotation mark precedes a value
 * that spreadsheets would take for a formula.
 */
void foreign_put_cell(struct buffer *to, const char *text);

/* Cleans one line of foreign text in its place. The text never grows. */
void foreign_clean(char *text);
/*
 * Cleans a text that the program has composed, for a terminal, in its place: that takes no memory.
 * Keeps newlines and tabs, and with `styles` also the sequences ESC [ NUMBERS m, which set colours.
 * Returns the size of the text, which never grows.
 */
size_t foreign_clean_lines(char *text, size_t size, bool styles);
