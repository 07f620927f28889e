// SPDX-License-Identifier: GPL-2.0-only
#include "base/foreign.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/*
 * Returns the number of continuation bytes after a first byte, or -1. *ret_low and *ret_high are
 * the range of the first continuation byte. Excludes overlong forms and surrogates.
 */
static int foreign_follow(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*ret_high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 0;
	if (first >= 0xc2 && first <= 0xdf)
		return 1;
	if (first >= 0xe0 && first <= 0xef)
		return 2;
	if (first >= 0xf0 && first <= 0xf4)
		return 3;
	return -1;
}

size_t foreign_take(const char *text, size_t size, uint32_t *ret_code)
{
	const uint8_t *at = (const uint8_t *)text;
	uint8_t low, high;
	uint32_t code;
	int follow;

	*ret_code = FOREIGN_BROKEN;
	if (!size)
		return 0;
	follow = foreign_follow(at[0], &low, &high);
	if (follow < 0)
		return 1;
	code = follow > 0 ? at[0] & (0x3f >> follow) : at[0];
	for (int i = 1; i <= follow; i++) {
		if ((size_t)i >= size || at[i] < low || at[i] > high)
			return i;
		code = code << 6 | (at[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*ret_code = code;
	return follow + 1;
}

bool foreign_is_hidden(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = { { 0, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },
		       { 0x34f, 0x34f },    { 0x61c, 0x61c },	{ 0x180e, 0x180e },
		       { 0x200b, 0x200f },  { 0x2028, 0x202e }, { 0x2060, 0x206f },
		       { 0xfeff, 0xfeff },  { 0xfff9, 0xfffb }, { 0xfffe, 0xffff },
		       { 0xe0000, 0xe0fff } };

	if (code >= ' ' && code < 0x7f)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return code == FOREIGN_BROKEN;
}

/* Returns how many bytes at the beginning are printable ASCII. */
static size_t foreign_plain_size(const char *text, size_t size)
{
	size_t plain = 0;

	while (plain < size && text[plain] >= ' ' && text[plain] < 0x7f)
		plain++;
	return plain;
}

void foreign_put(struct buffer *to, const char *text, size_t size)
{
	while (size) {
		size_t used = foreign_plain_size(text, size);
		uint32_t code = ' ';

		if (!used)
			used = foreign_take(text, size, &code);
		if (foreign_is_hidden(code))
			buffer_u8(to, FOREIGN_INSTEAD);
		else
			buffer_bytes(to, text, used);
		text += used;
		size -= used;
	}
}

/* Returns the size of a sequence that sets colours, or 0. */
static size_t foreign_style_size(const char *text, size_t size)
{
	size_t used = 2;

	if (size < 3 || text[0] != '\033' || text[1] != '[')
		return 0;
	while (used < size && ((text[used] >= '0' && text[used] <= '9') || text[used] == ';'))
		used++;
	return used < size && text[used] == 'm' ? used + 1 : 0;
}

void foreign_put_cell(struct buffer *to, const char *text)
{
	bool formula = *text && strchr("=+-@\t\r", *text);
	size_t size = strlen(text), part;

	if (!formula && !strpbrk(text, "\",\r\n")) {
		foreign_put(to, text, size);
		return;
	}
	buffer_text(to, formula ? "\"'" : "\"");
	for (; size; text += part, size -= part) {
		part = strcspn(text, "\"");
		foreign_put(to, text, part);
		if (text[part]) {
			buffer_text(to, "\"\"");
			part++;
		}
	}
	buffer_u8(to, '"');
}

size_t foreign_clean_lines(char *text, size_t size, bool styles)
{
	char *to = text;

	for (size_t at = 0, used; at < size; at += used) {
		uint32_t code = ' ';

		used = foreign_plain_size(text + at, size - at);
		if (!used && (text[at] == '\n' || text[at] == '\t'))
			used = 1;
		if (!used && styles)
			used = foreign_style_size(text + at, size - at);
		if (!used)
			used = foreign_take(text + at, size - at, &code);
		if (foreign_is_hidden(code)) {
			*to++ = FOREIGN_INSTEAD;
		} else {
			memmove(to, text + at, used);
			to += used;
		}
	}
	return to - text;
}

void foreign_clean(char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size; i++)
		if (text[i] == '\n' || text[i] == '\t')
			text[i] = FOREIGN_INSTEAD;
	text[foreign_clean_lines(text, size, false)] = 0;
}

const char *foreign_shell_word(const char *text, char word[FOREIGN_WORD_SIZE])
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-";
	size_t at = 0;

	if (*text && *text != '-' && !text[strspn(text, plain)]) {
		snprintf(word, FOREIGN_WORD_SIZE, "%s", text);
		return word;
	}
	word[at++] = '\'';
	/*
	 * a quote in the word ends the quoted part; write it escaped, and begin a new quoted part
	 */
	for (; *text && at + 6 < FOREIGN_WORD_SIZE; text++)
		at += snprintf(word + at, FOREIGN_WORD_SIZE - at, *text == '\'' ? "'\\''" : "%c",
			       *text);
	snprintf(word + at, FOREIGN_WORD_SIZE - at, "'");
	return word;
}
