/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* liblzma, which is included nowhere else. */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Takes xz in pieces, several streams one behind the other too. At most 256 MB of memory. */
struct xz_reader;
int xz_reader_new(struct xz_reader **ret_reader);
struct xz_reader *xz_reader_free(struct xz_reader *reader);
DEFINE_CLEANUP(xz_reader, struct xz_reader *, xz_reader_free)
/*
 * -EBADMSG when the piece is damaged: what came before the damage has been given. -ENOMEM; -ENOBUFS
 * when it wants more memory than that. A negative answer of `give` ends it and is handed on.
 */
int xz_reader_feed(struct xz_reader *reader, const void *data, size_t size,
		   int (*give)(void *context, const uint8_t *data, size_t size), void *context);
/* At the end of the pieces, and as that: -EBADMSG also when they end within a stream, or there was
 * none. */
int xz_reader_finish(struct xz_reader *reader,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context);
