// SPDX-License-Identifier: GPL-2.0-only
#include "pack/xz.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define PIECE_SIZE 65536

struct xz_reader {
	lzma_stream stream;
	uint8_t piece[PIECE_SIZE];
};

int xz_reader_new(uint64_t memory_max, struct xz_reader **ret_reader)
{
	struct xz_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->stream = (lzma_stream)LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&reader->stream, memory_max, LZMA_CONCATENATED) != LZMA_OK) {
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

static int xz_error(lzma_ret done)
{
	switch (done) {
	case LZMA_OK:
	case LZMA_STREAM_END:
	case LZMA_BUF_ERROR: /* no progress is possible with these bytes */
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -ENOBUFS;
	default:
		return -EBADMSG;
	}
}

static int xz_run(struct xz_reader *reader, lzma_action action, lzma_ret *ret_done,
		  int (*give)(void *context, const uint8_t *data, size_t size), void *context)
{
	lzma_stream *stream = &reader->stream;
	int r;

	do {
		stream->next_out = reader->piece;
		stream->avail_out = PIECE_SIZE;
		*ret_done = lzma_code(stream, action);
		r = give(context, reader->piece, PIECE_SIZE - stream->avail_out);
		if (r == 0)
			r = xz_error(*ret_done);
	} while (r == 0 && *ret_done != LZMA_STREAM_END &&
		 (stream->avail_in || stream->avail_out == 0));
	return r;
}

int xz_reader_feed(struct xz_reader *reader, const void *data, size_t size,
		   int (*give)(void *context, const uint8_t *data, size_t size), void *context)
{
	lzma_ret done;

	reader->stream.next_in = data;
	reader->stream.avail_in = size;
	return xz_run(reader, LZMA_RUN, &done, give, context);
}

/*
 * Several streams may follow each other. Only the end of the input shows that the last stream is
 * whole.
 */
int xz_reader_finish(struct xz_reader *reader,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context)
{
	lzma_ret done;
	int r;

	reader->stream.next_in = NULL;
	reader->stream.avail_in = 0;
	r = xz_run(reader, LZMA_FINISH, &done, give, context);
	if (r < 0)
		return r;
	return done != LZMA_STREAM_END ? -EBADMSG : 0;
}
