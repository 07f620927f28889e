/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Bytes in and bytes out, little-endian, one by one.
 *
 * struct reader is the only way in which the project looks into bytes that it did not make itself.
 * It never reads beyond its end: a read that would do so returns zero (or NULL), marks the reader
 * failed and keeps the offset, and every later read returns zero too. So a decoder reads a whole
 * row first and asks reader_failed() once.
 *
 * struct buffer grows. When memory runs out it marks itself failed and drops what is put; ask
 * buffer_failed() once at the end.
 */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *data;
	size_t size;
	size_t position;
	size_t failed_at;
	bool failed;
};

static inline void reader_init(struct reader *reader, const void *data, size_t size)
{
	*reader = (struct reader){ .data = (const uint8_t *)data, .size = size };
}

/* Are there size bytes more? It has failed when there are not. Inline: all decoding comes through
 * here. */
static inline bool reader_has(struct reader *reader, size_t size)
{
	if (reader->failed)
		return false;
	if (__builtin_expect(size > reader->size - reader->position, 0)) {
		reader->failed = true;
		reader->failed_at = reader->position;
		return false;
	}
	return true;
}

/* The next size bytes, borrowed from the reader's data; NULL when there are fewer. */
static inline const void *reader_take(struct reader *reader, size_t size)
{
	const uint8_t *at = reader->data + reader->position;

	if (!reader_has(reader, size))
		return NULL;
	reader->position += size;
	return at;
}

static inline uint64_t reader_little(struct reader *reader, size_t size)
{
	uint64_t value = 0;

	if (!reader_has(reader, size))
		return 0;
	memcpy(&value, reader->data + reader->position, size);
	reader->position += size;
	return le64toh(value);
}

static inline uint8_t reader_u8(struct reader *reader)
{
	return (uint8_t)reader_little(reader, 1);
}

static inline uint16_t reader_u16(struct reader *reader)
{
	return (uint16_t)reader_little(reader, 2);
}

static inline uint32_t reader_u32(struct reader *reader)
{
	return (uint32_t)reader_little(reader, 4);
}

static inline uint64_t reader_u64(struct reader *reader)
{
	return reader_little(reader, 8);
}

uint64_t reader_varint_long(struct reader *reader);

/*
 * LEB128, at most ten bytes. Inline where it is one, as most are. Longer ones are read through a
 * copy: nobody else then knows where a caller's own reader is, so it can stay in registers.
 */
static inline uint64_t reader_varint(struct reader *reader)
{
	struct reader copy;
	uint64_t value;

	if (!reader->failed && reader->position < reader->size &&
	    reader->data[reader->position] < 0x80)
		return reader->data[reader->position++];
	copy = *reader;
	value = reader_varint_long(&copy);
	*reader = copy;
	return value;
}

/* A NUL-terminated string in a field of size bytes; NULL when the field has no NUL. */
const char *reader_text(struct reader *reader, size_t size);
/* The next bytes up to a NUL, and behind it; NULL when there is none. */
const char *reader_string(struct reader *reader);

static inline size_t reader_left(const struct reader *reader)
{
	return reader->failed ? 0 : reader->size - reader->position;
}

/* For a decoder that does not like what it read. */
static inline void reader_fail(struct reader *reader)
{
	if (!reader->failed)
		reader->failed_at = reader->position;
	reader->failed = true;
}

static inline bool reader_failed(const struct reader *reader)
{
	return reader->failed;
}

struct buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

void buffer_done(struct buffer *buffer);
/* Room for size more bytes at the end, not yet counted in size; NULL when memory is out. */
uint8_t *buffer_room(struct buffer *buffer, size_t size);
void buffer_u8(struct buffer *buffer, uint8_t value);
void buffer_u16(struct buffer *buffer, uint16_t value);
void buffer_u32(struct buffer *buffer, uint32_t value);
void buffer_u64(struct buffer *buffer, uint64_t value);
void buffer_varint(struct buffer *buffer, uint64_t value);
void buffer_bytes(struct buffer *buffer, const void *data, size_t size);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline bool buffer_failed(const struct buffer *buffer)
{
	return buffer->failed;
}

/* Signed numbers near zero become small unsigned ones. */
static inline uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* CRC-32C (Castagnoli) of size bytes; start with crc 0, or with the crc of what came before. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);
