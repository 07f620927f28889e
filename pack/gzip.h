/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* zlib, which is included nowhere else. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Writes gzip to a descriptor, which stays the caller's. */
struct gzip_writer;
int gzip_writer_new(int fd, struct gzip_writer **ret_writer);
struct gzip_writer *gzip_writer_free(struct gzip_writer *writer);
DEFINE_CLEANUP(gzip_writer, struct gzip_writer *, gzip_writer_free)
/* 0 or the errno of write(2). After `last` nothing more may come. */
int gzip_write(struct gzip_writer *writer, const void *data, size_t size, bool last);

/* Takes gzip in pieces, several members one behind the other too. */
struct gzip_reader;
int gzip_reader_new(struct gzip_reader **ret_reader);
struct gzip_reader *gzip_reader_free(struct gzip_reader *reader);
DEFINE_CLEANUP(gzip_reader, struct gzip_reader *, gzip_reader_free)
/*
 * -EBADMSG when the piece is damaged: what came before the damage has been given. -ENOMEM. A
 * negative answer of `give` ends it and is handed on.
 */
int gzip_reader_feed(struct gzip_reader *reader, const void *data, size_t size,
		     int (*give)(void *context, const uint8_t *data, size_t size), void *context);
/* At the end of the pieces: 0, or -EBADMSG when they end within a member, or there was none. */
int gzip_reader_finish(const struct gzip_reader *reader);

/*
 * Decodes zlib's own format, which must hold exactly size bytes, into memory of the caller's of
 * that size. 0, or -EBADMSG when it does not; -ENOMEM.
 */
int zlib_exact(void *to, size_t size, const void *data, size_t data_size);

/* The CRC-32 of gzip, which debuglinks have too; start with crc 0, or with the crc of what came
 * before. */
uint32_t gzip_crc(uint32_t crc, const void *data, size_t size);
