/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the size of the UTF-8 character at `text`, and its code unless ret_code is NULL; 0 for
 * anything else.
 */
size_t utf8_take(const uint8_t *text, size_t size, uint32_t *ret_code);
