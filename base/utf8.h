/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns the size of the UTF-8 character at `text`, and its code unless ret_code is NULL; 0 if the
 * bytes are not UTF-8.
 */
size_t utf8_take(const uint8_t *text, size_t size, uint32_t *ret_code);
/*
 * Returns whether a character is invisible or changes the direction of writing. A name with such a
 * character can look like another name, and some readers treat U+FEFF as white space.
 */
bool utf8_is_hidden(uint32_t code);
