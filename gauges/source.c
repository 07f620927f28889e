// SPDX-License-Identifier: GPL-2.0-only
#include "gauges/source.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first size of a buffer. */
#define FIRST_SIZE 4096
#define DIGITS_MAX 18

void source_file_init(struct source_file *file, const char *root, const char *path)
{
	*file = (struct source_file){ .fd = -1 };
	/* a path that does not fit into the buffer cannot be opened either */
	if (snprintf(file->path, sizeof(file->path), "%s%s", root, path) >= (int)sizeof(file->path))
		file->path[0] = 0;
}

static void source_close_file(struct source_file *file)
{
	if (file->fd >= 0)
		close(take_fd(file->fd));
}

void source_file_done(struct source_file *file)
{
	source_close_file(file);
	free(file->text);
	file->text = NULL;
}

/*
 * Reads the bytes that fit into the buffer, and enlarges a full buffer. Returns 1 if the file
 * continues, 0 at its end.
 */
static int read_more(struct source_file *file, size_t limit)
{
	ssize_t size;

	if (file->size + 1 >= file->capacity) {
		if (file->capacity > limit)
			return -EFBIG;
		if (array_grow(&file->text, &file->capacity, MAX(2 * file->capacity, FIRST_SIZE),
			       1) < 0)
			return -ENOMEM;
	}
	size = pread(file->fd, file->text + file->size, file->capacity - 1 - file->size,
		     file->size);
	if (size < 0)
		return errno == EINTR ? 1 : -errno;
	file->size += size;
	return size > 0;
}

int source_file_read(struct source_file *file, size_t limit)
{
	int r;

	if (file->fd < 0)
		file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	file->size = 0;
	do
		r = read_more(file, limit);
	while (r == 1);
	if (r < 0) {
		/* the object behind the descriptor may be gone, so open the path anew next time */
		source_close_file(file);
		return r;
	}
	file->text[file->size] = 0;
	return 0;
}

int source_number(const char *path, int64_t *ret_value)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct words word;
	char text[64];
	ssize_t size;

	if (fd < 0)
		return -errno;
	size = pread(fd, text, sizeof(text), 0);
	if (size < 0)
		return -errno;
	word = (struct words){ text, text + size };
	if (!words_number(&word, ret_value))
		return -EBADMSG;
	return word.at == word.end || *word.at == '\n' ? 0 : -EBADMSG;
}

static int name_slot(uint32_t *id, const struct gauges_sink *sink, const char *format, va_list list)
{
	char name[PATH_MAX];
	int r;

	vsnprintf(name, sizeof(name), format, list);
	r = sink->name(sink->context, name, id);
	if (r < 0)
		return r;
	++*id;
	return 0;
}

int source_put(struct source_ids *ids, size_t slot, const struct gauges_sink *sink, int64_t value,
	       const char *format, ...)
{
	size_t before = ids->ids.count;
	va_list list;
	int r = 0;

	if (slot >= before) {
		if (array_reserve(&ids->ids, slot + 1) < 0)
			return -ENOMEM;
		memset(ids->ids.items + before, 0, (slot + 1 - before) * sizeof(*ids->ids.items));
		ids->ids.count = slot + 1;
	}
	if (!ids->ids.items[slot]) {
		va_start(list, format);
		r = name_slot(&ids->ids.items[slot], sink, format, list);
		va_end(list);
	}
	return r < 0 ? r : sink->put(sink->context, ids->ids.items[slot] - 1, value);
}

void source_ids_done(struct source_ids *ids)
{
	array_done(&ids->ids);
}

bool words_line(struct words *text, struct words *ret_line)
{
	const char *end;

	if (text->at == text->end)
		return false;
	end = memchr(text->at, '\n', text->end - text->at);
	*ret_line = (struct words){ text->at, end ? end : text->end };
	text->at = end ? end + 1 : text->end;
	return true;
}

static bool source_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool words_next(struct words *line, struct words *ret_word)
{
	while (line->at < line->end && source_is_blank(*line->at))
		line->at++;
	ret_word->at = line->at;
	while (line->at < line->end && !source_is_blank(*line->at))
		line->at++;
	ret_word->end = line->at;
	return ret_word->at < ret_word->end;
}

bool words_equal(const struct words *word, const char *text)
{
	size_t size = strlen(text);

	return (size_t)(word->end - word->at) == size && memcmp(word->at, text, size) == 0;
}

bool words_skip(struct words *word, const char *text)
{
	size_t size = strlen(text);

	if ((size_t)(word->end - word->at) < size || memcmp(word->at, text, size) != 0)
		return false;
	word->at += size;
	return true;
}

bool words_number(struct words *word, int64_t *ret_number)
{
	const char *at = word->at;
	int64_t number = 0;

	while (at < word->end && isdigit((unsigned char)*at) && at - word->at < DIGITS_MAX)
		number = number * 10 + (*at++ - '0');
	if (at == word->at || (at < word->end && isdigit((unsigned char)*at)))
		return false;
	word->at = at;
	*ret_number = number;
	return true;
}
