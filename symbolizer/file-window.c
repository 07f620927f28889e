// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/file-window.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The units of a budget that a system call costs, and the bytes to copy or search for one unit. */
#define READ_UNITS 32
#define UNIT_BYTES 64

struct file_window file_window_of_file(int fd)
{
	struct stat about;

	if (fstat(fd, &about) < 0 || about.st_size < 0)
		about.st_size = 0;
	return (struct file_window){ .fd = fd, .size = about.st_size };
}

struct file_window file_window_of_memory(const void *memory, size_t size)
{
	return (struct file_window){ .memory = memory, .fd = -1, .size = size };
}

struct file_window file_window_part(const struct file_window *source, uint64_t at, uint64_t size)
{
	struct file_window part = *source;

	at = MIN(at, source->size);
	part.offset += at;
	part.size = MIN(size, source->size - at);
	return part;
}

size_t file_window_read(const struct file_window *source, uint64_t at, void *to, size_t size)
{
	struct file_window part = file_window_part(source, at, size);
	size_t done = 0;

	if (!work_spend(part.budget, READ_UNITS + part.size / UNIT_BYTES))
		return 0;
	if (part.memory && part.size)
		memcpy(to, part.memory + part.offset, part.size);
	while (!part.memory && done < part.size) {
		ssize_t n =
			pread(part.fd, (uint8_t *)to + done, part.size - done, part.offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return done;
		done += n;
	}
	return part.size;
}

void window_done(struct window *window)
{
	buffer_done(&window->bytes);
}

/* Loads up to `size` bytes at `at` into the window. Returns the number of bytes loaded. */
static size_t window_fill(struct window *window, uint64_t at, size_t size)
{
	uint8_t *room;

	if (!work_spend(window->source.budget, 1))
		return 0;
	if (at >= window->at && at - window->at <= window->size &&
	    window->size - (at - window->at) >= size)
		return size;
	if (window->source.memory) {
		window->at = 0;
		window->size = window->source.size;
		return at < window->size ? MIN(size, window->size - at) : 0;
	}
	window->bytes.size = window->size = 0;
	size = MAX(size, window->step);
	room = buffer_room(&window->bytes, size);
	if (!room) {
		if (window->source.budget)
			window->source.budget->starved = true;
		return 0;
	}
	window->at = at;
	window->size = file_window_read(&window->source, at, room, size);
	return window->size;
}

static const uint8_t *window_bytes(const struct window *window, uint64_t at)
{
	const uint8_t *bytes = window->bytes.data;

	if (window->source.memory)
		bytes = window->source.memory + window->source.offset;
	return bytes ? bytes + (at - window->at) : NULL;
}

struct reader window_reader(struct window *window, uint64_t at, size_t size)
{
	struct reader reader;

	if (window_fill(window, at, size) >= size) {
		reader_init(&reader, window_bytes(window, at), size);
	} else {
		reader_init(&reader, NULL, 0);
		reader.failed = true;
	}
	return reader;
}

const char *window_text(struct window *window, uint64_t at)
{
	for (size_t size = 1; size <= WINDOW_MAX; size *= 2) {
		size_t loaded = window_fill(window, at, size);
		const char *text, *end;

		if (!loaded)
			return NULL;
		/* search all loaded bytes, not only the requested ones */
		loaded = MIN(window->size - (at - window->at), WINDOW_MAX);
		text = (const char *)window_bytes(window, at);
		end = memchr(text, 0, loaded);
		if (!work_spend(window->source.budget,
				(end ? (size_t)(end - text) : loaded) / UNIT_BYTES))
			return NULL;
		if (end)
			return text;
		if (loaded < size)
			return NULL;
		size = MAX(size, loaded);
	}
	return NULL;
}
