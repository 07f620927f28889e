/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The only code that uses zstd. */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"

/* Packs `data` into one frame and appends it. Returns 0 or -ENOMEM. */
int zstd_append(struct buffer *buffer, const void *data, size_t size, int level);

/*
 * Unpacks one frame into the caller's memory of `size` bytes. The frame must unpack to exactly this
 * size. Returns 0, or -EBADMSG if it does not.
 */
int zstd_exact(void *to, size_t size, const void *frame, size_t frame_size);

/* Pack or unpack many frames. The objects allocate their memory once. */
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
 * Unpacks a stream in pieces. give() receives at most 128 KB at a time, so that memory does not
 * depend on the size that the stream claims.
 */
struct zstd_stream;
int zstd_stream_new(struct zstd_stream **ret_stream);
struct zstd_stream *zstd_stream_free(struct zstd_stream *stream);
DEFINE_CLEANUP(zstd_stream, struct zstd_stream *, zstd_stream_free)

/*
 * Unpacks a piece and calls give() with the result. Returns 0, -ENOMEM, -ENOBUFS for a window over
 * 128 MB, a negative result of give(), or -EBADMSG for damage. Before it reports damage, give() has
 * received all bytes that precede the damaged block.
 */
int zstd_stream_feed(struct zstd_stream *stream, const void *data, size_t size,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context);
/* Ends the input. Returns 0, or -EBADMSG if the input ended within a frame or contained none. */
int zstd_stream_finish(const struct zstd_stream *stream);
