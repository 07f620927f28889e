/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Text that others chose: names of processes, files, cgroups and functions, lines of logs, facts of
 * tapes. Such a text, printed unchanged, could move the cursor, change colours, rename the
 * terminal's window, or look like another name. Only this file decides which characters perftape
 * must not print:
 *
 *   control characters (C0, DEL, C1), controls of the direction of writing, characters without
 *   width, U+FEFF, U+FFFE, U+FFFF, and bytes that are not UTF-8.
 *
 * FOREIGN_INSTEAD replaces each of these characters. `house outlets` checks that the program prints
 * only in files that clean their texts with these functions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define FOREIGN_INSTEAD '?'
/* Not a character: bytes that are not UTF-8. */
#define FOREIGN_BROKEN UINT32_MAX

/*
 * Returns the size of the first character, and its code. Bytes that are not UTF-8 have the code
 * FOREIGN_BROKEN, and the size of the bytes that a decoder replaces by one U+FFFD. Returns 0 only
 * for size 0.
 */
size_t foreign_take(const char *text, size_t size, uint32_t *ret_code);
/* Returns whether perftape must not print the character. */
bool foreign_is_hidden(uint32_t code);

/* Appends one line of foreign text, cleaned. */
void foreign_put(struct buffer *to, const char *text, size_t size);
/*
 * Appends a cleaned value of a CSV row, in quotes if necessary. An apostrophe precedes a value that
 * spreadsheets would take for a formula.
 */
void foreign_put_cell(struct buffer *to, const char *text);

/* Cleans one line of foreign text in its place. The text never grows. */
void foreign_clean(char *text);
/*
 * Cleans a text of several lines for a terminal, in place and without allocating. Keeps newlines
 * and tabs, and with `styles` also the sequences ESC [ NUMBERS m, which set colours. Returns the
 * size of the text, which never grows.
 */
size_t foreign_clean_lines(char *text, size_t size, bool styles);

#define FOREIGN_WORD_SIZE 1100

/*
 * Returns the text as one word of a command that a person may copy, in quotes where a shell needs
 * them. Cuts a longer text.
 */
const char *foreign_shell_word(const char *text, char word[FOREIGN_WORD_SIZE]);
