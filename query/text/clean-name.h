/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Names come from processes and files, so from anybody. What any text of lines makes of them,
 * whoever reads it:
 *
 * (1) It is valid UTF-8, and what was not is one `?` for each part that a decoder would replace by
 * one U+FFFD. (2) It has no control character and no white space but the blank: Python and Perl
 * take U+00A0 and its like for space too. (3) It does not begin with a `#` or a blank, and does not
 * end with a blank; what is not empty does not become so.
 *
 * A format has its own separators on top of that. JSON needs none of it: it can say all.
 */

#include <stdbool.h>
#include <stddef.h>

/* How much of a name is put out: all but the blanks at its end, of nothing but blanks the first. */
size_t clean_name_size(const char *name);
/*
 * The size of the character at a NUL-terminated text that is not empty, or of the longest start of
 * one that breaks off. *ret_instead is what stands for it, 0 where it stands for itself; a name's
 * first character is more than another.
 */
size_t clean_name_take(const char *at, bool first, char *ret_instead);
