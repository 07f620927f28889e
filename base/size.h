/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Parses and formats sizes in bytes. Units are powers of 1000 (kB), or of 1024 with an i (KiB). */

#include <stddef.h>
#include <stdint.h>

/*
 * Parses "20G", "20GB", "500M", "1.5T", "64MiB", "512B" and "0". Returns 0, -ERANGE beyond 1000 PB,
 * or -EINVAL. Returns -EDOM if a number other than 0 has no unit, because nobody means 20 bytes by
 * "20".
 */
int size_parse(const char *text, uint64_t *ret_bytes);
/* Formats "12.3 MB". Returns `text`. */
const char *size_format(uint64_t bytes, char *text, size_t size);
