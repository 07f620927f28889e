// SPDX-License-Identifier: GPL-2.0-only
#include "pack/zstd.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/*
 * Only archives need windows beyond 128 MB. zstd would allocate such a window before it unpacks the
 * first byte.
 */
#define WINDOW_LOG_MAX 27

int zstd_append(struct buffer *buffer, const void *data, size_t size, int level)
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

int zstd_exact(void *to, size_t size, const void *frame, size_t frame_size)
{
	size_t got = ZSTD_decompress(to, size, frame, frame_size);

	return ZSTD_isError(got) || got != size ? -EBADMSG : 0;
}

struct zstd_packer {
	ZSTD_CCtx *context;
};

int zstd_packer_new(int level, struct zstd_packer **ret_packer)
{
	_cleanup_(cleanup_zstd_packer) struct zstd_packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return -ENOMEM;
	packer->context = ZSTD_createCCtx();
	if (!packer->context)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, level);
	*ret_packer = take_ptr(packer);
	return 0;
}

struct zstd_packer *zstd_packer_free(struct zstd_packer *packer)
{
	if (!packer)
		return NULL;
	ZSTD_freeCCtx(packer->context);
	free(packer);
	return NULL;
}

int zstd_packer_append(struct zstd_packer *packer, struct buffer *buffer, const void *data,
		       size_t size)
{
	size_t bound = ZSTD_compressBound(size), used;
	uint8_t *room = buffer_room(buffer, bound);

	if (!room)
		return -ENOMEM;
	used = ZSTD_compress2(packer->context, room, bound, data, size);
	if (ZSTD_isError(used))
		return -ENOMEM;
	buffer->size += used;
	return 0;
}

struct zstd_unpacker {
	ZSTD_DCtx *context;
};

int zstd_unpacker_new(struct zstd_unpacker **ret_unpacker)
{
	_cleanup_(cleanup_zstd_unpacker) struct zstd_unpacker *unpacker =
		calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return -ENOMEM;
	unpacker->context = ZSTD_createDCtx();
	if (!unpacker->context)
		return -ENOMEM;
	*ret_unpacker = take_ptr(unpacker);
	return 0;
}

struct zstd_unpacker *zstd_unpacker_free(struct zstd_unpacker *unpacker)
{
	if (!unpacker)
		return NULL;
	ZSTD_freeDCtx(unpacker->context);
	free(unpacker);
	return NULL;
}

int zstd_unpacker_exact(struct zstd_unpacker *unpacker, void *to, size_t size, const void *frame,
			size_t frame_size)
{
	size_t got = ZSTD_decompressDCtx(unpacker->context, to, size, frame, frame_size);

	return ZSTD_isError(got) || got != size ? -EBADMSG : 0;
}

struct zstd_stream {
	ZSTD_DStream *stream;
	/* The number of bytes that zstd expects next, which is the rest of a block. */
	size_t next;
	/* The last byte so far was the end of a frame. */
	bool ended;
	uint8_t piece[128 << 10];
};

int zstd_stream_new(struct zstd_stream **ret_stream)
{
	_cleanup_(cleanup_zstd_stream) struct zstd_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	stream->stream = ZSTD_createDStream();
	if (!stream->stream)
		return -ENOMEM;
	stream->next = ZSTD_initDStream(stream->stream);
	ZSTD_DCtx_setParameter(stream->stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	*ret_stream = take_ptr(stream);
	return 0;
}

struct zstd_stream *zstd_stream_free(struct zstd_stream *stream)
{
	if (!stream)
		return NULL;
	ZSTD_freeDStream(stream->stream);
	free(stream);
	return NULL;
}

static int zstd_error(size_t result)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_no_error:
		return 0;
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_frameParameter_windowTooLarge:
		return -ENOBUFS;
	default:
		return -EBADMSG;
	}
}

/*
 * Unpacks at most one block in each call of zstd. A failed call does not tell how much it has
 * unpacked, so give() must receive all earlier blocks before that call.
 */
int zstd_stream_feed(struct zstd_stream *stream, const void *data, size_t size,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context)
{
	ZSTD_inBuffer in = { data, 0, 0 };
	bool full;

	do {
		ZSTD_outBuffer out = { stream->piece, sizeof(stream->piece), 0 };
		size_t before = in.pos, result;
		int r;

		in.size = in.pos + MIN(size - in.pos, MAX(stream->next, (size_t)1));
		result = ZSTD_decompressStream(stream->stream, &out, &in);
		r = zstd_error(result);
		if (r < 0)
			return r;
		full = out.pos == out.size;
		if (out.pos || in.pos > before)
			stream->ended = result == 0;
		else if (in.pos < in.size)
			return -EBADMSG; /* without progress, the loop would not end */
		stream->next = result;
		r = out.pos ? give(context, stream->piece, out.pos) : 0;
		if (r < 0)
			return r;
	} while (in.pos < size || full);
	return 0;
}

int zstd_stream_finish(const struct zstd_stream *stream)
{
	return stream->ended ? 0 : -EBADMSG;
}
