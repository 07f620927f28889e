/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* zstd, which is included nowhere else. */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"

/* Appends one frame. 0 or -ENOMEM. */
int zstd_append(struct buffer *buffer, const void *data, size_t size, int level);

/*
 * Decodes one frame that must hold exactly size bytes, into memory of the caller's of that size.
 * 0, or -EBADMSG when it does not.
 */
int zstd_exact(void *to, size_t size, const void *frame, size_t frame_size);

/* The same for many frames, with memory that is got once. */
struct zstd_packer;
int zstd_packer_new(int level, struct zstd_packer **ret_packer);
struct zstd_packer *zstd_packer_free(struct zstd_packer *packer);
DEFINE_CLEANUP(zstd_packer, struct zstd_packer *, zstd_packer_free)
int zstd_packer_append(struct zstd_packer *packer, struct buffer *buffer, const void *data,
		       size_t size);

struct zstd_unpacker;
int zstd_unpacker_new(struct zstd_unpacker **ret_unpacker);
struct zstd_unpacker *zstd_unpacker_free(struct zstd_unpacker *unpacker);
DEFINE_CLEANUP(zstd_unpacker, struct zstd_unpacker *, zstd_unpacker_free)
int zstd_unpacker_exact(struct zstd_unpacker *unpacker, void *to, size_t size, const void *frame,
			size_t frame_size);

/*
 * A stream that comes in pieces. Whatever a piece expands to, it is handed on in bits of at most
 * 128 KB, so that memory does not follow what the bytes claim.
 */
struct zstd_stream;
int zstd_stream_new(struct zstd_stream **ret_stream);
struct zstd_stream *zstd_stream_free(struct zstd_stream *stream);
DEFINE_CLEANUP(zstd_stream, struct zstd_stream *, zstd_stream_free)

/*
 * -EBADMSG when the piece is damaged: what came before the damaged block has been given. -ENOMEM;
 * -ENOBUFS when it wants a window of over 128 MB. A negative answer of `give` ends it and is handed
 * on.
 */
int zstd_stream_feed(struct zstd_stream *stream, const void *data, size_t size,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context);
/* At the end of the pieces: 0, or -EBADMSG when they end within a frame, or there was none. */
int zstd_stream_finish(const struct zstd_stream *stream);
