/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Unpacks bytes in gzip, xz or zstd, in pieces. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Bytes that show the format. */
#define UNPACK_HEAD 6

struct unpack_decoder;

/* Returns whether the first bytes are those of a packed file. */
bool unpack_is_packed(const uint8_t head[UNPACK_HEAD]);
/* Returns 0; -EBADMSG if the first bytes are not those of a packed file; or -ENOMEM. */
int unpack_decoder_new(const uint8_t head[UNPACK_HEAD], struct unpack_decoder **ret_decoder);
struct unpack_decoder *unpack_decoder_free(struct unpack_decoder *decoder);
DEFINE_CLEANUP(unpack_decoder, struct unpack_decoder *, unpack_decoder_free)

/*
 * Unpacks a piece and calls give() with the result. Returns 0, -ENOMEM, -ENOBUFS if unpacking needs
 * too much memory, a negative result of give(), or -EBADMSG for damage. Before it reports damage,
 * give() has received all bytes that precede the damage.
 */
int unpack_decoder_feed(struct unpack_decoder *decoder, const void *data, size_t size,
			int (*give)(void *context, const uint8_t *data, size_t size),
			void *context);
/* Ends the input. Also returns -EBADMSG if the input ended too early. */
int unpack_decoder_finish(struct unpack_decoder *decoder,
			  int (*give)(void *context, const uint8_t *data, size_t size),
			  void *context);
