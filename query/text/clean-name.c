// SPDX-License-Identifier: GPL-2.0-only
#include "query/text/clean-name.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define NOT_A_CHARACTER UINT32_MAX

/*
 * Returns the number of continuation bytes after a first byte, or -1, and the range of the first of
 * them. Excludes overlong forms and surrogates.
 */
static int utf8_follow(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
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

/*
 * Returns the size of the first character of a NUL-terminated, non-empty text, or of the longest
 * prefix of a truncated one. A NUL is not a continuation byte, so nothing behind it is read.
 */
static size_t utf8_character(const uint8_t *at, uint32_t *ret_character)
{
	uint8_t low, high;
	int follow = utf8_follow(at[0], &low, &high);
	uint32_t character = follow > 0 ? at[0] & (0x3f >> follow) : at[0];

	*ret_character = NOT_A_CHARACTER;
	if (follow < 0)
		return 1;
	for (int i = 1; i <= follow; i++) {
		if (at[i] < low || at[i] > high)
			return i;
		character = character << 6 | (at[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	*ret_character = character;
	return follow + 1;
}

static bool is_unprintable(uint32_t character)
{
	if (character == NOT_A_CHARACTER || utf8_is_hidden(character))
		return true;
	return character == 0xa0 || character == 0x1680 ||
	       (character >= 0x2000 && character <= 0x200a) || character == 0x202f ||
	       character == 0x205f || character == 0x3000;
}

static const char *const far_words[] = { "\"use strict\"", "'use strict'", "CD001",
					 "CDROM",	   "BEA01",	   "TMR SEGA" };

static bool begins_far_word(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(far_words); i++)
		if (*at == *far_words[i] && !strncmp(at, far_words[i], strlen(far_words[i])))
			return true;
	return false;
}

bool clean_name_has_far_word(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(far_words); i++)
		if (strstr(name, far_words[i]))
			return true;
	return false;
}

size_t clean_name_size(const char *name)
{
	size_t size = strlen(name);

	while (size > 1 && name[size - 1] == ' ')
		size--;
	return size;
}

size_t clean_name_take(const char *at, bool first, char *ret_instead)
{
	uint32_t character;
	size_t used = utf8_character((const uint8_t *)at, &character);

	if (is_unprintable(character))
		*ret_instead = '?';
	else
		*ret_instead =
			(first && (*at == '#' || *at == ' ')) || begins_far_word(at) ? '_' : 0;
	return used;
}
