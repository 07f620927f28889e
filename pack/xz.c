// SPDX-License-Identifier: GPL-2.0-only
#include "pack/xz.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define MEMORY_MAX (256u << 20)
#define BIT_SIZE 65536

struct xz_reader {
	lzma_stream stream;
	uint8_t bit[BIT_SIZE];
};

int xz_reader_new(struct xz_reader **ret_reader)
{
	struct xz_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->stream = (lzma_stream)LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&reader->stream, MEMORY_MAX, LZMA_CONCATENATED) != LZMA_OK) {
		free(reader);
		return -ENOMEM;
	}
	*ret_reader = reader;
	return 0;
}

struct xz_reader *xz_reader_free(struct xz_reader *reader)
{
	if (!reader)
		return NULL;
	lzma_end(&reader->stream);
	free(reader);
	return NULL;
}

int xz_reader_feed(struct xz_reader *reader, const void *data, size_t size,
	int (*give)(void *context, const uint8_t *data, size_t size), void *context)
{
	lzma_stream *stream = &reader->stream;
	lzma_ret done;
	int r;

	stream->next_in = data;
	stream->avail_in = size;
	do {
		stream->next_out = reader->bit;
		stream->avail_out = BIT_SIZE;
		done = lzma_code(stream, LZMA_RUN);
		if (done != LZMA_OK && done != LZMA_BUF_ERROR)
			return done == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
		r = give(context, reader->bit, BIT_SIZE - stream->avail_out);
		if (r < 0)
			return r;
	} while (stream->avail_in || stream->avail_out == 0);
	return 0;
}
