/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How many bytes the UTF-8 character at text has, with its code; 0 when it is none. ret_code may be
 * NULL. */
size_t utf8_take(const uint8_t *text, size_t size, uint32_t *ret_code);
