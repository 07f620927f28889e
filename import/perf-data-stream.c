// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "pack/zstd.h"
#include "import/perf-data.h"

/*
 * The records of a file, in two layers that are alike: `outer` holds the bytes of the file, `inner`
 * what compressed records unpacked to, whose records may be cut anywhere and go on in the next one.
 * Both keep only what is not used yet.
 */
#define PIECE_SIZE (1u << 20)

/* Records that expand to more than this are bombs: what perf compresses has times in it. */
#define EXPAND_RATIO 2000
#define EXPAND_ALWAYS (64u << 20)

#define ZSTD_MAGIC "\x28\xb5\x2f\xfd"

struct stream {
	struct perf_data *file;
	struct zstd_stream **zstd;
	/* the file's first compressed record was seen */
	bool started;
	/* with a frame that began in another file */
	bool continues;
	int (*give)(void *context, const uint8_t *record, size_t size, uint64_t offset);
	void *context;
	struct error *error;
	/* in the file: the end of the record at hand */
	uint64_t offset;
	/* bytes behind it that are no records */
	uint64_t skip;
	struct buffer inner;
	/* all that was unpacked */
	uint64_t expanded;
};

static int perf_data_stream_damaged(struct stream *stream, const char *what)
{
	error_set(stream->error, 1, "%s at byte %llu; what came before it is kept", what,
		  (unsigned long long)stream->offset);
	return 1;
}

static int perf_data_stream_foreign(struct stream *stream)
{
	return error_set(
		stream->error, PERF_DATA_CONTINUES,
		"its compression goes on from another file (--switch-output -z): import it together with the one before it");
}

/* Gives out the whole records at the front of a buffer; the rest moves to the front. */
static int give_records(struct buffer *bytes, struct stream *stream,
			int (*take)(struct stream *stream, const uint8_t *record, size_t size))
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && bytes->size - at >= PERF_HEADER_SIZE) {
		const uint8_t *record = bytes->data + at;
		size_t size = record[6] | record[7] << 8;

		if (size < PERF_HEADER_SIZE)
			return perf_data_stream_damaged(stream, "a record without a size");
		if (size > bytes->size - at)
			break;
		at += size;
		r = take(stream, record, size);
		if (stream->skip)
			break;
	}
	memmove(bytes->data, bytes->data + at, bytes->size - at);
	bytes->size -= at;
	return r;
}

/* Only what the kernel wrote is compressed. That is also how what was unpacked behind the wrong
 * file is found out. */
static int take_inner(struct stream *stream, const uint8_t *record, size_t size)
{
	uint32_t type;

	memcpy(&type, record, sizeof(type));
	if (!type || type >= PERF_DATA_ATTR || size % 8)
		return perf_data_stream_damaged(stream,
						"a compressed record that holds no records");
	return stream->give(stream->context, record, size, stream->offset);
}

static int perf_data_stream_unpacked(void *context, const uint8_t *data, size_t size)
{
	struct stream *stream = context;
	int r;

	stream->expanded += size;
	if (stream->expanded / EXPAND_RATIO > stream->file->size + EXPAND_ALWAYS / EXPAND_RATIO)
		return -EFBIG;
	buffer_bytes(&stream->inner, data, size);
	if (buffer_failed(&stream->inner))
		return -ENOMEM;
	/* a damaged record inside ends it all, and zstd hands on only what is negative */
	r = give_records(&stream->inner, stream, take_inner);
	return r == 1 ? -EBADE : r;
}

/* Starts compression, or goes on with that of the file before. */
static int start_compression(struct stream *stream, const uint8_t *data, size_t size)
{
	bool fresh = size >= 4 && memcmp(data, ZSTD_MAGIC, 4) == 0;

	stream->started = true;
	stream->continues = !fresh;
	if (!fresh)
		return *stream->zstd ? 0 : perf_data_stream_foreign(stream);
	*stream->zstd = zstd_stream_free(*stream->zstd);
	return zstd_stream_new(stream->zstd);
}

static int take_compressed(struct stream *stream, const uint8_t *data, size_t size)
{
	int r = 0;

	if (!stream->zstd)
		return 0; /* only the first records are asked for */
	if (!stream->started)
		r = start_compression(stream, data, size);
	if (r == 0)
		r = zstd_stream_feed(*stream->zstd, data, size, perf_data_stream_unpacked, stream);
	if ((r == -EBADMSG || r == -EBADE) && stream->continues)
		return perf_data_stream_foreign(stream);
	if (r == -EBADMSG || r == -ENOBUFS)
		return perf_data_stream_damaged(stream, "a compressed record that does not unpack");
	if (r == -EFBIG)
		return perf_data_stream_damaged(stream,
						"a compressed record that expands absurdly");
	return r == -EBADE ? 1 : r;
}

/* Records that are followed by bytes which are none. */
static void note_payload(struct stream *stream, uint32_t type, const uint8_t *record, size_t size)
{
	struct reader body;

	reader_init(&body, record, size);
	reader_take(&body, PERF_HEADER_SIZE);
	if (type == PERF_DATA_AUXTRACE)
		stream->skip = reader_u64(&body);
	else if (type == PERF_DATA_TRACING_DATA && stream->file->pipe)
		stream->skip = ((uint64_t)reader_u32(&body) + 7) & ~7ull;
}

static int take_outer(struct stream *stream, const uint8_t *record, size_t size)
{
	uint32_t type;
	uint64_t payload;

	stream->offset += size;
	memcpy(&type, record, sizeof(type));
	if (type == PERF_DATA_COMPRESSED)
		return take_compressed(stream, record + PERF_HEADER_SIZE, size - PERF_HEADER_SIZE);
	if (type == PERF_DATA_COMPRESSED2 && size >= 16) {
		memcpy(&payload, record + 8, sizeof(payload));
		if (payload > size - 16)
			return perf_data_stream_damaged(stream,
							"a compressed record that claims too much");
		return take_compressed(stream, record + 16, payload);
	}
	note_payload(stream, type, record, size);
	return stream->give(stream->context, record, size, stream->offset);
}

/* Steps over what is no record, in the buffer and beyond it. Returns where to read on. */
static uint64_t skip_payload(struct stream *stream, struct buffer *outer, uint64_t at)
{
	uint64_t there = MIN(stream->skip, (uint64_t)outer->size);
	uint64_t left = stream->file->data_end - at;

	memmove(outer->data, outer->data + there, outer->size - there);
	outer->size -= there;
	stream->offset += stream->skip;
	at += MIN(stream->skip - there, left);
	stream->skip = 0;
	return at;
}

static int read_piece(struct stream *stream, struct buffer *outer, uint64_t *at)
{
	size_t size = MIN((uint64_t)PIECE_SIZE, stream->file->data_end - *at);
	uint8_t *room = buffer_room(outer, size);
	ssize_t got;

	if (!room)
		return -ENOMEM;
	do {
		got = pread(stream->file->fd, room, size, *at);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set(stream->error, -errno, "reading: %s", strerror(errno));
	if (got == 0)
		*at = stream->file->data_end; /* it became shorter meanwhile */
	outer->size += got;
	*at += got;
	return 0;
}

static int perf_data_stream_read_all(struct stream *stream, struct buffer *outer)
{
	uint64_t at = stream->file->data_offset;
	int r = 0;

	stream->offset = at;
	while (r == 0 && (at < stream->file->data_end || stream->skip)) {
		r = read_piece(stream, outer, &at);
		do {
			if (stream->skip)
				at = skip_payload(stream, outer, at);
			if (r == 0)
				r = give_records(outer, stream, take_outer);
		} while (r == 0 && stream->skip && outer->size);
		if (stream->skip)
			at = skip_payload(stream, outer, at);
	}
	if (r == 0 && (outer->size || stream->inner.size))
		return perf_data_stream_damaged(stream, "the file ends in the middle of a record");
	return r;
}

int perf_data_read(struct perf_data *file, struct zstd_stream **stream,
		   int (*give)(void *context, const uint8_t *record, size_t size, uint64_t offset),
		   void *context, struct error *error)
{
	_cleanup_(buffer_done) struct buffer outer = { 0 };
	struct stream state = {
		.file = file,
		.zstd = stream,
		.give = give,
		.context = context,
		.error = error,
	};
	int r = perf_data_stream_read_all(&state, &outer);

	buffer_done(&state.inner);
	return r;
}
