// SPDX-License-Identifier: GPL-2.0-only
#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

uint64_t reader_varint_long(struct reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = reader_u8(reader);

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return reader->failed ? 0 : value;
	}
	if (!reader->failed) {
		reader->failed = true;
		reader->failed_at = reader->position;
	}
	return 0;
}

const char *reader_text(struct reader *reader, size_t size)
{
	size_t start = reader->position;
	const char *at = reader_take(reader, size);

	if (!at)
		return NULL;
	if (!memchr(at, 0, size)) {
		reader->failed = true;
		reader->failed_at = start;
		return NULL;
	}
	return at;
}

const char *reader_string(struct reader *reader)
{
	const uint8_t *from = reader->data + reader->position;
	const uint8_t *end = reader_left(reader) ? memchr(from, 0, reader_left(reader)) : NULL;

	return reader_take(reader, end ? (size_t)(end - from) + 1 : SIZE_MAX);
}

void buffer_done(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){ 0 };
}

uint8_t *buffer_room(struct buffer *buffer, size_t size)
{
	if (buffer->failed)
		return NULL;
	/* allocate also for size 0, because callers take NULL as a lack of memory */
	if (!buffer->data || size > buffer->capacity - buffer->size) {
		size_t capacity = MAX(buffer->capacity * 2, buffer->size + size + 64);
		uint8_t *data = realloc(buffer->data, capacity);

		if (!data) {
			buffer->failed = true;
			return NULL;
		}
		buffer->data = data;
		buffer->capacity = capacity;
	}
	return buffer->data + buffer->size;
}

void buffer_bytes(struct buffer *buffer, const void *data, size_t size)
{
	uint8_t *at = size ? buffer_room(buffer, size) : NULL;

	if (!at)
		return;
	memcpy(at, data, size);
	buffer->size += size;
}

static void buffer_little(struct buffer *buffer, uint64_t value, size_t size)
{
	uint8_t *at = buffer_room(buffer, size);

	if (!at)
		return;
	for (size_t i = 0; i < size; i++)
		at[i] = value >> (8 * i);
	buffer->size += size;
}

void buffer_u8(struct buffer *buffer, uint8_t value)
{
	buffer_little(buffer, value, 1);
}

void buffer_u16(struct buffer *buffer, uint16_t value)
{
	buffer_little(buffer, value, 2);
}

void buffer_u32(struct buffer *buffer, uint32_t value)
{
	buffer_little(buffer, value, 4);
}

void buffer_u64(struct buffer *buffer, uint64_t value)
{
	buffer_little(buffer, value, 8);
}

void buffer_varint(struct buffer *buffer, uint64_t value)
{
	uint8_t *at = buffer_room(buffer, 10);
	size_t used = 0;

	if (!at)
		return;
	while (value >= 0x80) {
		at[used++] = value | 0x80;
		value >>= 7;
	}
	at[used++] = value;
	buffer->size += used;
}

void buffer_text(struct buffer *buffer, const char *text)
{
	buffer_bytes(buffer, text, strlen(text));
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
	va_list args, again;
	uint8_t *at;
	int size;

	va_start(args, format);
	va_copy(again, args);
	size = vsnprintf(NULL, 0, format, args);
	at = size < 0 ? NULL : buffer_room(buffer, (size_t)size + 1);
	if (at) {
		vsnprintf((char *)at, (size_t)size + 1, format, again);
		buffer->size += size;
	}
	va_end(again);
	va_end(args);
}

/* Processes four bits at a time, for CPUs without a CRC instruction. */
static uint32_t crc32c_table(uint32_t crc, const uint8_t *at, size_t size)
{
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};

	for (size_t i = 0; i < size; i++) {
		crc ^= at[i];
		crc = (crc >> 4) ^ table[crc & 15];
		crc = (crc >> 4) ^ table[crc & 15];
	}
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse(uint32_t crc, const uint8_t *at,
							     size_t size)
{
	uint64_t wide = crc, part;

	for (; size >= sizeof(part); size -= sizeof(part), at += sizeof(part)) {
		memcpy(&part, at, sizeof(part));
		wide = __builtin_ia32_crc32di(wide, part);
	}
	for (crc = wide; size; size--)
		crc = __builtin_ia32_crc32qi(crc, *at++);
	return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc32c_sse(~crc, data, size);
#endif
	return ~crc32c_table(~crc, data, size);
}
