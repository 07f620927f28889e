/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The only code that uses liblzma. */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/*
 * Memory limits. The large one suffices for every preset of xz; the small one suffices for "xz -6",
 * whose dictionary has 8 MB.
 */
#define XZ_MEMORY_LARGE (256u << 20)
#define XZ_MEMORY_SMALL (16u << 20)

/* Unpacks xz in pieces, also several streams one after the other, with at most memory_max bytes. */
struct xz_reader;
int xz_reader_new(uint64_t memory_max, struct xz_reader **ret_reader);
struct xz_reader *xz_reader_free(struct xz_reader *reader);
DEFINE_CLEANUP(xz_reader, struct xz_reader *, xz_reader_free)
/*
 * Unpacks a piece and calls give() with the result. Returns 0, -ENOMEM, -ENOBUFS beyond the limit
 * of memory, a negative result of give(), or -EBADMSG for damage. Before it reports damage, give()
 * has received all bytes that precede the damage.
 */
int xz_reader_feed(struct xz_reader *reader, const void *data, size_t size,
		   int (*give)(void *context, const uint8_t *data, size_t size), void *context);
/*
 * Ends the input. Returns the same values as xz_reader_feed(). -EBADMSG also means that the input
 * ended within a stream or contained none.
 */
int xz_reader_finish(struct xz_reader *reader,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context);
