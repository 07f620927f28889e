/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A range of bytes in a file or in memory, read on demand. A large table costs memory and time only
 * for the pieces in use. Windows read files with pread() and never map them, so a file that
 * somebody truncates meanwhile only ends earlier.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "symbolizer/work-limit.h"

struct file_window {
	/* NULL: the bytes are in the file. */
	const uint8_t *memory;
	int fd;
	uint64_t offset;
	uint64_t size;
	/*
	 * Borrowed; NULL: no limit. Reads spend from this budget, and return no bytes when it is
	 * spent.
	 */
	struct work_limit *budget;
};

struct file_window file_window_of_file(int fd);
struct file_window file_window_of_memory(const void *memory, size_t size);
/* Returns the part of a source that begins at `at` and has at most `size` bytes. */
struct file_window file_window_part(const struct file_window *source, uint64_t at, uint64_t size);
/* Copies at most `size` bytes at `at`. Returns the number of copied bytes. */
size_t file_window_read(const struct file_window *source, uint64_t at, void *to, size_t size);

/* The limit for the size of a text. All known names are shorter than 64 KB. */
#define WINDOW_MAX (1u << 20)

/*
 * A piece of a source in memory. Starts zeroed, except for `source` and for `step`, the least
 * number of bytes to read at a time.
 */
struct window {
	struct file_window source;
	size_t step;
	uint64_t at;
	size_t size;
	struct buffer bytes;
};

void window_done(struct window *window);
/*
 * Returns a reader of `size` bytes at `at`. If there are fewer bytes, the reader is marked as
 * failed. Valid until the next call.
 */
struct reader window_reader(struct window *window, uint64_t at, size_t size);
/*
 * Returns the NUL-terminated text at `at`, or NULL if the text lacks its NUL within WINDOW_MAX
 * bytes. Valid until the next call.
 */
const char *window_text(struct window *window, uint64_t at);

/*
 * Read numbers in the byte order of this machine, because files that run on this machine use that
 * order.
 */
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

/* Reads an address or a size of 4 or 8 bytes. */
static inline uint64_t reader_word_host(struct reader *reader, size_t size)
{
	return size == 8 ? reader_u64_host(reader) : reader_u32_host(reader);
}
