// SPDX-License-Identifier: GPL-2.0-only
#include "query/text/clean-name.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/foreign.h"

static bool is_unprintable(uint32_t character)
{
	if (foreign_is_hidden(character))
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
	/* no character is longer */
	size_t used = foreign_take(at, strnlen(at, 4), &character);

	if (is_unprintable(character))
		*ret_instead = FOREIGN_INSTEAD;
	else
		*ret_instead =
			(first && (*at == '#' || *at == ' ')) || begins_far_word(at) ? '_' : 0;
	return used;
}
