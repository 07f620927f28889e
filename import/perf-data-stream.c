// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "import/perf-data.h"
#include "unpacker/unpack-helper.h"

/*
 * Reads the records of a file in two similar layers. `outer` holds bytes of the file. `inner` holds
 * the unpacked bytes of compressed records. A record in `inner` may begin in one compressed record
 * and end in the next. Both buffers keep only bytes that are not used yet.
 */
#define PIECE_SIZE (1u << 20)

/*
 * If a file expands by more than this factor, it is a bomb: real records contain times, which do
 * not compress that well.
 */
#define EXPAND_RATIO 2000
#define EXPAND_ALWAYS (64u << 20)

/* The first bytes of a zstd frame, which are enough to start a helper. */
static const uint8_t zstd_head[UNPACK_HEAD] = { 0x28, 0xb5, 0x2f, 0xfd };
#define ZSTD_MAGIC_SIZE 4

struct stream {
	struct perf_data *file;
	struct unpack_helper **zstd;
	/* the file's first compressed record was seen */
	bool started;
	/* the file's first compressed frame began in another file */
	bool continues;
	int (*give)(void *context, const uint8_t *record, size_t size, uint64_t offset);
	void *context;
	struct error *error;
	/* offset of the current record's end in the file */
	uint64_t offset;
	/* number of bytes after the current record that are not records */
	uint64_t skip;
	struct buffer inner;
	/* number of all bytes that were unpacked */
	uint64_t expanded;
};

static int perf_data_stream_damaged(struct stream *stream, const char *what)
{
	error_set(stream->error, 1, "%s at byte %llu; everything before is kept", what,
		  (unsigned long long)stream->offset);
	return 1;
}

static int perf_data_stream_foreign(struct stream *stream)
{
	return error_set(stream->error, PERF_DATA_CONTINUES,
			 "it continues another file (--switch-output -z); import both together");
}

/* Passes on the complete records at the front of a buffer, and moves the rest to the front. */
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

/*
 * perf compresses only records of the kernel. Other bytes show that the stream is that of a wrong
 * file.
 */
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
	/*
	 * a result of 1 means a damaged record inside and must end the reading; zstd passes on only
	 * negative results
	 */
	r = give_records(&stream->inner, stream, take_inner);
	return r == 1 ? -EBADE : r;
}

/* Starts decompression, or continues that of the file before. */
static int start_compression(struct stream *stream, const uint8_t *data, size_t size)
{
	bool fresh = size >= ZSTD_MAGIC_SIZE && memcmp(data, zstd_head, ZSTD_MAGIC_SIZE) == 0;

	stream->started = true;
	stream->continues = !fresh;
	if (!fresh)
		return *stream->zstd ? 0 : perf_data_stream_foreign(stream);
	*stream->zstd = unpack_helper_free(*stream->zstd);
	return stream->file->unpack_here ? unpack_helper_new_here(zstd_head, stream->zstd)
					 : unpack_helper_new(zstd_head, stream->zstd);
}

static int take_compressed(struct stream *stream, const uint8_t *data, size_t size)
{
	int r = 0;

	if (!stream->zstd)
		return 0; /* the caller needs only the first records */
	if (!stream->started)
		r = start_compression(stream, data, size);
	if (r == 0)
		r = unpack_helper_feed(*stream->zstd, data, size, perf_data_stream_unpacked,
				       stream);
	if ((r == -EBADMSG || r == -EBADE) && stream->continues)
		return perf_data_stream_foreign(stream);
	if (r == -EBADMSG || r == -ENOBUFS || r == -EPROTO || r == -ETIME)
		return perf_data_stream_damaged(stream, "a compressed record that does not unpack");
	if (r == -ECHILD)
		return error_set(stream->error, r,
				 "cannot start a process that unpacks it; is /proc mounted?");
	if (r == -EFBIG)
		return perf_data_stream_damaged(stream,
						"a compressed record that expands absurdly");
	return r == -EBADE ? 1 : r;
}

/* Some records are followed by bytes that are not records. */
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
			return perf_data_stream_damaged(
				stream,
				"a compressed record that claims to unpack to too many bytes");
		return take_compressed(stream, record + 16, payload);
	}
	note_payload(stream, type, record, size);
	return stream->give(stream->context, record, size, stream->offset);
}

/* Skips bytes that are not records, in the buffer and after it. Returns where to continue. */
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
		*at = stream->file->data_end; /* the file became shorter meanwhile */
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
	if (r != 0)
		return r;
	if (outer->size || stream->inner.size)
		return perf_data_stream_damaged(stream, "the file ends in the middle of a record");
	return 0;
}

int perf_data_read(struct perf_data *file, struct unpack_helper **stream,
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
