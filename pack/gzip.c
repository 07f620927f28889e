// SPDX-License-Identifier: GPL-2.0-only
#include "pack/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/file.h"

/*
 * Stacks repeat so much that the fastest level packs them to a tenth of their size. The next levels
 * take twice the time of the fastest one.
 */
#define LEVEL Z_BEST_SPEED
#define WINDOW (15 + 16) /* the largest window, and a header of gzip */
#define PIECE_SIZE 65536

struct gzip_writer {
	int fd;
	z_stream stream;
	uint8_t piece[PIECE_SIZE];
};

int gzip_writer_new(int fd, struct gzip_writer **ret_writer)
{
	struct gzip_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	writer->fd = fd;
	if (deflateInit2(&writer->stream, LEVEL, Z_DEFLATED, WINDOW, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK) {
		free(writer);
		return -ENOMEM;
	}
	*ret_writer = writer;
	return 0;
}

struct gzip_writer *gzip_writer_free(struct gzip_writer *writer)
{
	if (!writer)
		return NULL;
	deflateEnd(&writer->stream);
	free(writer);
	return NULL;
}

static int write_piece(struct gzip_writer *writer, const uint8_t *data, size_t size, int flush)
{
	writer->stream.next_in = (uint8_t *)data;
	writer->stream.avail_in = size;
	do {
		int r;

		writer->stream.next_out = writer->piece;
		writer->stream.avail_out = PIECE_SIZE;
		deflate(&writer->stream, flush);
		r = file_write_all(writer->fd, writer->piece,
				   PIECE_SIZE - writer->stream.avail_out);
		if (r < 0)
			return r;
	} while (writer->stream.avail_out == 0);
	return 0;
}

/* zlib counts in 32 bits, so gzip_write() splits large pieces. */
int gzip_write(struct gzip_writer *writer, const void *data, size_t size, bool last)
{
	const uint8_t *at = data;
	int r = 0;

	for (; r == 0 && size > INT_MAX; at += INT_MAX, size -= INT_MAX)
		r = write_piece(writer, at, INT_MAX, Z_NO_FLUSH);
	return r < 0 ? r : write_piece(writer, at, size, last ? Z_FINISH : Z_NO_FLUSH);
}

int gzip_pack(const void *data, size_t size, struct buffer *packed)
{
	z_stream stream = { .next_in = (uint8_t *)data, .avail_in = size };
	uint8_t *room;
	uLong most;

	if (size > INT_MAX)
		return -EFBIG;
	if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	most = deflateBound(&stream, size);
	room = buffer_room(packed, most);
	if (room) {
		stream.next_out = room;
		stream.avail_out = most;
		deflate(&stream, Z_FINISH);
		packed->size += stream.total_out;
	}
	deflateEnd(&stream);
	return room ? 0 : -ENOMEM;
}

struct gzip_reader {
	z_stream stream;
	/* The last byte so far was the end of a member. */
	bool ended;
	uint8_t piece[PIECE_SIZE];
};

int gzip_reader_new(struct gzip_reader **ret_reader)
{
	struct gzip_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	if (inflateInit2(&reader->stream, WINDOW) != Z_OK) {
		free(reader);
		return -ENOMEM;
	}
	*ret_reader = reader;
	return 0;
}

struct gzip_reader *gzip_reader_free(struct gzip_reader *reader)
{
	if (!reader)
		return NULL;
	inflateEnd(&reader->stream);
	free(reader);
	return NULL;
}

int gzip_reader_feed(struct gzip_reader *reader, const void *data, size_t size,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context)
{
	z_stream *stream = &reader->stream;
	int done, r;

	if (size > INT_MAX)
		return -EINVAL;
	stream->next_in = (uint8_t *)data;
	stream->avail_in = size;
	do {
		stream->next_out = reader->piece;
		stream->avail_out = PIECE_SIZE;
		if (stream->avail_in)
			reader->ended = false;
		done = inflate(stream, Z_NO_FLUSH);
		r = give(context, reader->piece, PIECE_SIZE - stream->avail_out);
		if (r < 0)
			return r;
		if (done == Z_MEM_ERROR)
			return -ENOMEM;
		if (done != Z_OK && done != Z_STREAM_END && done != Z_BUF_ERROR)
			return -EBADMSG;
		if (done == Z_STREAM_END)
			reader->ended = true;
		/* the next member may follow */
		if (done == Z_STREAM_END && inflateReset(stream) != Z_OK)
			return -EBADMSG;
	} while (stream->avail_in || stream->avail_out == 0);
	return 0;
}

int gzip_reader_finish(const struct gzip_reader *reader)
{
	return reader->ended ? 0 : -EBADMSG;
}

int zlib_exact(void *to, size_t size, const void *data, size_t data_size)
{
	uLongf got = size;

	switch (uncompress(to, &got, data, data_size)) {
	case Z_OK:
		return got == size ? 0 : -EBADMSG;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		return -EBADMSG;
	}
}

uint32_t gzip_crc(uint32_t crc, const void *data, size_t size)
{
	return crc32_z(crc, data, size);
}
