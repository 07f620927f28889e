/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* zstd, which is included nowhere else. */

#include "base/bytes.h"

/* Appends one frame. 0 or -ENOMEM. */
int compress_append(struct buffer *buffer, const void *data, size_t size, int level);

/*
 * Decodes one frame that must hold exactly size bytes, into memory of the caller's of that size.
 * 0, or -EBADMSG when it does not.
 */
int decompress_exact(void *to, size_t size, const void *frame, size_t frame_size);
