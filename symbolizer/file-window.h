/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Bytes of a file that are read where and when they are asked for, so that a table of a gigabyte
 * costs one piece of it. They may as well be in memory. Files are read with pread(), never mapped:
 * one that is cut short under us just ends earlier.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct file_window {
	/* NULL: in the file */
	const uint8_t *memory;
	int fd;
	uint64_t offset;
	uint64_t size;
};

struct file_window file_window_of_file(int fd);
struct file_window file_window_of_memory(const void *memory, size_t size);
/* What of a source lies at `at`: at most size bytes, as many as there are. */
struct file_window file_window_part(const struct file_window *source, uint64_t at, uint64_t size);
/* Copies at most size bytes that lie at `at`; how many there were. */
size_t file_window_read(const struct file_window *source, uint64_t at, void *to, size_t size);

/* No text beyond this is one. */
#define WINDOW_MAX (1u << 20)

/* A piece of a source that is at hand. Zeroed, with its source and how much is read at a time, to
 * start. */
struct window {
	struct file_window source;
	size_t step;
	uint64_t at;
	size_t size;
	struct buffer bytes;
};

void window_done(struct window *window);
/* A reader of `size` bytes at `at`, which lives until the next call; one that fails at once where
 * there are fewer. */
struct reader window_reader(struct window *window, uint64_t at, size_t size);
/* The NUL-terminated text at `at`, living as long; NULL when it has no end. */
const char *window_text(struct window *window, uint64_t at);

/* Numbers in the byte order of this machine, which is that of the files that run on it. */
static inline uint16_t reader_u16_host(struct reader *reader)
{
	return htole16(reader_u16(reader));
}

static inline uint32_t reader_u32_host(struct reader *reader)
{
	return htole32(reader_u32(reader));
}

static inline uint64_t reader_u64_host(struct reader *reader)
{
	return htole64(reader_u64(reader));
}

/* An address or a size of 4 or 8 bytes. */
static inline uint64_t reader_word_host(struct reader *reader, size_t size)
{
	return size == 8 ? reader_u64_host(reader) : reader_u32_host(reader);
}
