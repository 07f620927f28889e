// SPDX-License-Identifier: GPL-2.0-only
#include "base/utf8.h"

size_t utf8_take(const uint8_t *text, size_t size, uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t wanted;
	uint32_t code;

	if (!size)
		return 0;
	wanted = text[0] < 0x80		  ? 1
		 : (text[0] >> 5) == 0x6  ? 2
		 : (text[0] >> 4) == 0xe  ? 3
		 : (text[0] >> 3) == 0x1e ? 4
					  : 0;
	code = wanted < 2 ? text[0] : text[0] & (0x7f >> wanted);
	if (!wanted || wanted > size)
		return 0;
	for (size_t i = 1; i < wanted; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[wanted] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	if (ret_code)
		*ret_code = code;
	return wanted;
}

bool utf8_is_hidden(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = { { 0, 0x1f },	   { 0x7f, 0x9f },	{ 0x61c, 0x61c },
		       { 0x200b, 0x200f }, { 0x2028, 0x202e },	{ 0x2060, 0x206f },
		       { 0xfeff, 0xfeff }, { 0xe0000, 0xe0fff } };

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}
