// SPDX-License-Identifier: GPL-2.0-only
#include "store/compress.h"

#include <errno.h>
#include <zstd.h>

int compress_append(struct buffer *buffer, const void *data, size_t size, int level)
{
	size_t bound = ZSTD_compressBound(size), used;
	uint8_t *room = buffer_room(buffer, bound);

	if (!room)
		return -ENOMEM;
	used = ZSTD_compress(room, bound, data, size, level);
	if (ZSTD_isError(used))
		return -ENOMEM;
	buffer->size += used;
	return 0;
}

int decompress_exact(void *to, size_t size, const void *frame, size_t frame_size)
{
	size_t got = ZSTD_decompress(to, size, frame, frame_size);

	return ZSTD_isError(got) || got != size ? -EBADMSG : 0;
}
