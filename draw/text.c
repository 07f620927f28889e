// SPDX-License-Identifier: GPL-2.0-only
#include "draw/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

struct range {
	uint32_t first, last;
};

static const struct range wide[] = { { 0x1100, 0x115f },   { 0x2e80, 0xa4cf },
				     { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
				     { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
				     { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
				     { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd } };
static const struct range joined[] = { { 0x300, 0x36f }, { 0xfe00, 0xfe0f } };
/* Control characters, invisible ones, and those that change the direction of writing. */
static const struct range hidden[] = { { 0, 0x1f },	   { 0x7f, 0x9f },	{ 0x61c, 0x61c },
				       { 0x200b, 0x200f }, { 0x2028, 0x202e },	{ 0x2060, 0x206f },
				       { 0xfeff, 0xfeff }, { 0xe0000, 0xe0fff } };

static bool is_in(const struct range *ranges, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* One character: the bytes to show, and its columns. */
struct shown {
	const char *text;
	size_t size;
	unsigned int width;
};

static const char *take_character(const struct terminal *terminal, const char *at,
				  struct shown *ret_shown)
{
	uint32_t code = 0;
	size_t size = utf8_take((const uint8_t *)at, strlen(at), &code);

	if (!size || is_in(hidden, ARRAY_SIZE(hidden), code) ||
	    (code >= 0x80 && !terminal->unicode)) {
		*ret_shown = (struct shown){ "?", 1, 1 };
		return at + MAX(size, (size_t)1);
	}
	*ret_shown = (struct shown){ at, size, 1 };
	if (is_in(wide, ARRAY_SIZE(wide), code))
		ret_shown->width = 2;
	else if (is_in(joined, ARRAY_SIZE(joined), code))
		ret_shown->width = 0;
	return at + size;
}

unsigned int text_width(const struct terminal *terminal, const char *text)
{
	unsigned int width = 0;
	struct shown shown;

	while (*text) {
		text = take_character(terminal, text, &shown);
		width += shown.width;
	}
	return width;
}

unsigned int text_put_short(const struct terminal *terminal, const char *text, unsigned int width,
			    struct buffer *to)
{
	bool truncated = text_width(terminal, text) > width;
	unsigned int dots = truncated ? MIN(width, 2u) : 0, used = 0;

	while (*text) {
		struct shown shown;
		const char *next = take_character(terminal, text, &shown);

		if (used + shown.width > width - dots)
			break;
		buffer_bytes(to, shown.text, shown.size);
		used += shown.width;
		text = next;
	}
	buffer_bytes(to, "..", dots);
	return used + dots;
}

unsigned int text_put_middle(const struct terminal *terminal, const char *text, unsigned int width,
			     struct buffer *to)
{
	unsigned int all = text_width(terminal, text), at = 0, used = 0;
	unsigned int tail = width > 4 ? (width - 2) / 2 : 0, head = width - 2 - tail, dots = 2;

	if (all <= width || !tail)
		return text_put_short(terminal, text, width, to);
	for (struct shown shown; *text; at += shown.width) {
		text = take_character(terminal, text, &shown);
		if (at + shown.width > head && at < all - tail) {
			buffer_bytes(to, "..", dots);
			used += dots;
			dots = 0;
			continue;
		}
		buffer_bytes(to, shown.text, shown.size);
		used += shown.width;
	}
	return used;
}

void text_put(const struct terminal *terminal, const char *text, unsigned int width,
	      struct buffer *to)
{
	for (unsigned int used = text_put_short(terminal, text, width, to); used < width; used++)
		buffer_u8(to, ' ');
}

struct lines {
	const struct terminal *terminal;
	struct buffer *to;
	/* `used`: columns of the last line. */
	unsigned int count, used;
};

static void next_line(struct lines *lines)
{
	buffer_u8(lines->to, '\n');
	lines->count++;
	lines->used = 0;
}

/* Breaks a word that is wider than a line. */
static void text_put_word(struct lines *lines, const char *word)
{
	unsigned int width = lines->terminal->width;

	for (struct shown shown; *word;) {
		word = take_character(lines->terminal, word, &shown);
		if (lines->used && lines->used + shown.width > width)
			next_line(lines);
		buffer_bytes(lines->to, shown.text, shown.size);
		lines->used += shown.width;
	}
}

static void text_put_wrapped_word(struct lines *lines, const char *word)
{
	unsigned int width = text_width(lines->terminal, word);

	if (lines->used && lines->used + 1 + width > lines->terminal->width)
		next_line(lines);
	if (lines->used) {
		buffer_u8(lines->to, ' ');
		lines->used++;
	}
	text_put_word(lines, word);
}

unsigned int text_put_lines_after(const struct terminal *terminal, unsigned int used,
				  const char *text, struct buffer *to)
{
	struct lines lines = { .terminal = terminal, .to = to, .count = 1, .used = used };

	while (*text) {
		size_t size = strcspn(text, " \n");
		_cleanup_free_ char *word = strndup(text, size);

		if (!word) {
			to->failed = true;
			return 0;
		}
		text_put_wrapped_word(&lines, word);
		text += size;
		if (*text == '\n' && text[1])
			next_line(&lines);
		text += *text != 0;
	}
	buffer_u8(to, '\n');
	return lines.count;
}

unsigned int text_put_lines(const struct terminal *terminal, const char *text, struct buffer *to)
{
	return text_put_lines_after(terminal, 0, text, to);
}
