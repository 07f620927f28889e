/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Makes names safe for lines of text. Names come from processes and files, so an attacker may
 * choose them. The result has these properties:
 *
 * (1) The text is valid UTF-8. A `?` replaces each part that a decoder would replace by one U+FFFD.
 * (2) It contains no control characters, and no white space except the blank. Python and Perl treat
 *     U+00A0 and similar characters as space, too, and JavaScript also U+FEFF. No character is
 *     invisible or changes the direction of writing.
 * (3) It does not begin with a `#` or a blank, and does not end with a blank. A name that is not
 *     empty does not become empty.
 * (4) It does not contain a word that libmagic searches far into a file: `"use strict"` anywhere
 *     makes the file JavaScript, and `CD001` at byte 32769 an image of a disc. A `_` replaces the
 *     first character of such a word.
 *
 * Each format escapes its own separators in addition. JSON does not need clean names, because it
 * can represent any text.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns how many bytes of a name to output: all except trailing blanks. If a name consists of
 * blanks, one blank stays.
 */
size_t clean_name_size(const char *name);
/*
 * Returns the size of the first character of a NUL-terminated, non-empty text, or of the longest
 * prefix of a truncated character. *ret_instead is the replacement of the character, or 0 to keep
 * it. The first character of a name has stricter rules.
 */
size_t clean_name_take(const char *at, bool first, char *ret_instead);
/* Returns whether property (4) changes the name. */
bool clean_name_has_far_word(const char *name);
