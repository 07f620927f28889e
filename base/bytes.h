/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads and writes bytes, little-endian.
 *
 * The project reads bytes from outside only through struct reader, which never reads beyond its
 * end. A read beyond the end returns zero (or NULL), marks the reader as failed and stores the
 * offset in failed_at. Every later read returns zero, too. So a decoder reads a whole row and then
 * calls reader_failed() once.
 *
 * struct buffer grows. If memory runs out, the buffer marks itself as failed and drops the bytes;
 * call buffer_failed() once at the end.
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

/*
 * Returns whether `size` more bytes exist; otherwise marks the reader as failed. Inline, because
 * all decoding calls it.
 */
static inline bool reader_require(struct reader *reader, size_t size)
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

/* Returns the next `size` bytes, or NULL if there are fewer. Valid as long as the reader's data. */
static inline const void *reader_take(struct reader *reader, size_t size)
{
	const uint8_t *at;

	if (!reader_require(reader, size) || !reader->data)
		return NULL;
	at = reader->data + reader->position;
	reader->position += size;
	return at;
}

static inline uint64_t reader_little(struct reader *reader, size_t size)
{
	uint64_t value = 0;

	if (!reader_require(reader, size))
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
 * Reads LEB128 of at most ten bytes. The inline code reads the common single byte. A copy of the
 * reader takes longer numbers, so that the address of the caller's reader does not escape and the
 * reader stays in registers.
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

/*
 * Returns the NUL-terminated string in a field of `size` bytes; NULL if the field contains no NUL.
 */
const char *reader_text(struct reader *reader, size_t size);
/* Returns the string up to the next NUL and moves behind the NUL. Returns NULL without a NUL. */
const char *reader_string(struct reader *reader);

static inline size_t reader_left(const struct reader *reader)
{
	return reader->failed ? 0 : reader->size - reader->position;
}

/* Marks the reader as failed. A decoder calls this to reject a value. */
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
/*
 * Returns space for `size` more bytes at the end, or NULL if memory runs out. The caller adds the
 * bytes that it writes there to the buffer's size.
 */
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

/* Ends a text. Returns the text, or, if memory ran out, another text that says so. */
static inline const char *buffer_shown(struct buffer *buffer)
{
	buffer_u8(buffer, 0);
	return buffer->failed ? "out of memory" : (const char *)buffer->data;
}

/* Maps signed numbers near zero to small unsigned ones. */
static inline uint64_t zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/*
 * Returns the CRC-32C (Castagnoli) of `size` bytes. `crc` is 0, or the CRC of the preceding bytes.
 */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);
