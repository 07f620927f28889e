/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The only code that uses zlib. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/cleanup.h"

/* Writes gzip to a descriptor, which stays the caller's. */
struct gzip_writer;
int gzip_writer_new(int fd, struct gzip_writer **ret_writer);
struct gzip_writer *gzip_writer_free(struct gzip_writer *writer);
DEFINE_CLEANUP(gzip_writer, struct gzip_writer *, gzip_writer_free)
/* Writes a piece; `last` ends the file. Returns 0 or the negative errno of write(2). */
int gzip_write(struct gzip_writer *writer, const void *data, size_t size, bool last);

/*
 * Appends the data as one gzip member. The same data gives the same bytes. Returns 0, -EFBIG for
 * data that zlib cannot count, or -ENOMEM.
 */
int gzip_pack(const void *data, size_t size, struct buffer *packed);

/* Unpacks gzip in pieces, also several members one after the other. */
struct gzip_reader;
int gzip_reader_new(struct gzip_reader **ret_reader);
struct gzip_reader *gzip_reader_free(struct gzip_reader *reader);
DEFINE_CLEANUP(gzip_reader, struct gzip_reader *, gzip_reader_free)
/*
 * Unpacks a piece and calls give() with the result. Returns 0, -ENOMEM, a negative result of
 * give(), or -EBADMSG for damage. Before it reports damage, give() has received all bytes that
 * precede the damage.
 */
int gzip_reader_feed(struct gzip_reader *reader, const void *data, size_t size,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context);
/* Ends the input. Returns 0, or -EBADMSG if the input ended within a member or contained none. */
int gzip_reader_finish(const struct gzip_reader *reader);

/*
 * Unpacks zlib's own format into the caller's memory of `size` bytes. The data must unpack to
 * exactly this size. Returns 0, -EBADMSG if it does not, or -ENOMEM.
 */
int zlib_exact(void *to, size_t size, const void *data, size_t data_size);

/*
 * Returns the CRC-32 that gzip and debuglinks use. `crc` is 0, or the CRC of the preceding bytes.
 */
uint32_t gzip_crc(uint32_t crc, const void *data, size_t size);
