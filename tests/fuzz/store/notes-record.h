/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A record of the notes with a right checksum, because a fuzzer does not find such a checksum. */

#include <string.h>

#include "base/bytes.h"

static inline void put_record(struct buffer *record, const void *body, size_t size)
{
	uint8_t length[4];

	memcpy(length, &(uint32_t){ htole32(size) }, sizeof(length));
	buffer_bytes(record, "\x9fnot", 4);
	buffer_bytes(record, length, sizeof(length));
	buffer_u32(record, crc32c(crc32c(0, length, sizeof(length)), body, size));
	buffer_bytes(record, body, size);
}
