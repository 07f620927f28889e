/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Unpacks bytes of others (pack/unpack.h) in a separate process, the unpacking helper. It has no
 * rights, no files, and bounded memory (unpacker/unpack-server.h). So bytes that damage a decoder
 * damage only this process, and the caller can give up at any time. Each helper unpacks one stream.
 */

#include "pack/unpack.h"

struct unpack_helper;

/*
 * Starts a helper for a stream with these first bytes, which the caller feeds, too. Returns 0,
 * -EBADMSG if they are not those of a packed stream, -ECHILD if a helper cannot start, or -ENOMEM.
 */
int unpack_helper_new(const uint8_t head[UNPACK_HEAD], struct unpack_helper **ret_helper);
/* Like unpack_helper_new(), but without a process. For tests of the decoders. */
int unpack_helper_new_here(const uint8_t head[UNPACK_HEAD], struct unpack_helper **ret_helper);
struct unpack_helper *unpack_helper_free(struct unpack_helper *helper);
DEFINE_CLEANUP(unpack_helper, struct unpack_helper *, unpack_helper_free)

/*
 * Like unpack_decoder_feed(). give() receives at most 128 KB at a time. Also returns -EPROTO if the
 * helper died or its answer is invalid, and -ETIME if it took too long. Then, and after a negative
 * result of give(), the helper has ended, and each further call returns -EPROTO.
 */
int unpack_helper_feed(struct unpack_helper *helper, const void *data, size_t size,
		       int (*give)(void *context, const uint8_t *data, size_t size), void *context);
/* Like unpack_decoder_finish(), with the additional results of unpack_helper_feed(). */
int unpack_helper_finish(struct unpack_helper *helper,
			 int (*give)(void *context, const uint8_t *data, size_t size),
			 void *context);
