// SPDX-License-Identifier: GPL-2.0-only
#include "pack/unpack.h"

#include <errno.h>
#include <string.h>

#include "pack/gzip.h"
#include "pack/xz.h"
#include "pack/zstd.h"

/* The decoder for one format; the other decoders are NULL. */
struct unpack_decoder {
	struct gzip_reader *gzip;
	struct xz_reader *xz;
	struct zstd_stream *zstd;
};

static bool is_gzip(const uint8_t head[UNPACK_HEAD])
{
	return memcmp(head, "\x1f\x8b", 2) == 0;
}

static bool is_xz(const uint8_t head[UNPACK_HEAD])
{
	return memcmp(head, "\3757zXZ", 6) == 0;
}

static bool is_zstd(const uint8_t head[UNPACK_HEAD])
{
	return memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0;
}

bool unpack_is_packed(const uint8_t head[UNPACK_HEAD])
{
	return is_gzip(head) || is_xz(head) || is_zstd(head);
}

static int unpack_decoder_open(struct unpack_decoder *decoder, const uint8_t head[UNPACK_HEAD])
{
	if (is_gzip(head))
		return gzip_reader_new(&decoder->gzip);
	if (is_xz(head))
		return xz_reader_new(XZ_MEMORY_LARGE, &decoder->xz);
	return is_zstd(head) ? zstd_stream_new(&decoder->zstd) : -EBADMSG;
}

int unpack_decoder_new(const uint8_t head[UNPACK_HEAD], struct unpack_decoder **ret_decoder)
{
	struct unpack_decoder *decoder = calloc(1, sizeof(*decoder));
	int r = decoder ? unpack_decoder_open(decoder, head) : -ENOMEM;

	if (r < 0) {
		free(decoder);
		return r;
	}
	*ret_decoder = decoder;
	return 0;
}

struct unpack_decoder *unpack_decoder_free(struct unpack_decoder *decoder)
{
	if (!decoder)
		return NULL;
	gzip_reader_free(decoder->gzip);
	xz_reader_free(decoder->xz);
	zstd_stream_free(decoder->zstd);
	free(decoder);
	return NULL;
}

int unpack_decoder_feed(struct unpack_decoder *decoder, const void *data, size_t size,
			int (*give)(void *context, const uint8_t *data, size_t size), void *context)
{
	if (decoder->gzip)
		return gzip_reader_feed(decoder->gzip, data, size, give, context);
	if (decoder->xz)
		return xz_reader_feed(decoder->xz, data, size, give, context);
	return zstd_stream_feed(decoder->zstd, data, size, give, context);
}

int unpack_decoder_finish(struct unpack_decoder *decoder,
			  int (*give)(void *context, const uint8_t *data, size_t size),
			  void *context)
{
	if (decoder->gzip)
		return gzip_reader_finish(decoder->gzip);
	if (decoder->xz)
		return xz_reader_finish(decoder->xz, give, context);
	return zstd_stream_finish(decoder->zstd);
}
