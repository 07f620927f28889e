// SPDX-License-Identifier: GPL-2.0-only
#include "draw/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/foreign.h"

/* The columns of "..". */
#define DOTS 2u

struct range {
	uint32_t first, last;
};

static const struct range wide[] = { { 0x1100, 0x115f },   { 0x2e80, 0xa4cf },
				     { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
				     { 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },
				     { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
				     { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd } };
static const struct range joined[] = { { 0x300, 0x36f }, { 0xfe00, 0xfe0f } };

static bool is_in(const struct range *ranges, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* One character: the bytes to show, and the number of columns that they take. */
struct shown {
	const char *text;
	size_t size;
	unsigned int width;
};

static const char *take_character(const struct terminal *terminal, const char *at,
				  struct shown *ret_shown)
{
	uint32_t code;
	size_t size = foreign_take(at, strnlen(at, 4), &code);

	if (foreign_is_hidden(code) || (code >= 0x80 && !terminal->unicode)) {
		*ret_shown = (struct shown){ "?", 1, 1 };
		return at + size;
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

/* Puts at most `size` bytes of the text, and at most `width` columns. Returns the columns used. */
static unsigned int text_put_part(const struct terminal *terminal, const char *text, size_t size,
				  unsigned int width, struct buffer *to)
{
	const char *end = text + size;
	unsigned int used = 0;

	while (text < end) {
		struct shown shown;
		const char *next = take_character(terminal, text, &shown);

		if (used + shown.width > width)
			break;
		buffer_bytes(to, shown.text, shown.size);
		used += shown.width;
		text = next;
	}
	return used;
}

/* Returns the size of the words that fit, without the blanks behind them. */
static size_t text_fitting(const struct terminal *terminal, const char *text, unsigned int width)
{
	const char *at = text, *end = text;
	unsigned int used = 0;

	while (*at && used <= width) {
		struct shown shown;

		if (*at == ' ' && at[-(at > text)] != ' ')
			end = at;
		at = take_character(terminal, at, &shown);
		used += shown.width;
	}
	return end - text;
}

static unsigned int text_put_first_word(const struct terminal *terminal, const char *text,
					unsigned int width, struct buffer *to)
{
	size_t blanks = strspn(text, " ");
	_cleanup_free_ char *word = strndup(text, blanks + strcspn(text + blanks, " "));

	if (word)
		return text_put_middle(terminal, word, width, to);
	to->failed = true;
	return 0;
}

unsigned int text_put_short(const struct terminal *terminal, const char *text, unsigned int width,
			    struct buffer *to)
{
	size_t size;

	if (text_width(terminal, text) <= width)
		return text_put_part(terminal, text, strlen(text), width, to);
	size = width > DOTS + 1 ? text_fitting(terminal, text, width - DOTS - 1) : 0;
	if (!size)
		return text_put_first_word(terminal, text, width, to);
	width = text_put_part(terminal, text, size, width, to);
	buffer_text(to, " ..");
	return width + 1 + DOTS;
}

unsigned int text_put_middle(const struct terminal *terminal, const char *text, unsigned int width,
			     struct buffer *to)
{
	unsigned int all = text_width(terminal, text), at = 0, used = 0;
	unsigned int tail = width > 4 ? (width - DOTS) / 2 : 0, head = width - DOTS - tail;
	unsigned int dots = MIN(width, DOTS);

	if (all <= width)
		return text_put_part(terminal, text, strlen(text), width, to);
	if (!tail) {
		used = text_put_part(terminal, text, strlen(text), width - dots, to);
		buffer_bytes(to, "..", dots);
		return used + dots;
	}
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

void text_put_path(const char *path, struct buffer *to)
{
	const char *end = path + strlen(path);

	while (end > path) {
		const char *begin = end;

		while (begin > path && begin[-1] != ';')
			begin--;
		buffer_bytes(to, begin, end - begin);
		buffer_text(to, begin > path ? " < " : "");
		end = MAX(begin - 1, path);
	}
}
