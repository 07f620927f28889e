/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A position in text from outside, with its end. Each take_ function either takes its form as a
 * whole or leaves the cursor where it was.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text_cursor {
	const char *at, *end;
};

static inline size_t text_cursor_left(const struct text_cursor *cursor)
{
	return cursor->end - cursor->at;
}

static inline bool text_cursor_is(const struct text_cursor *cursor, char c)
{
	return cursor->at < cursor->end && *cursor->at == c;
}

static inline bool take_char(struct text_cursor *cursor, char c)
{
	bool taken = text_cursor_is(cursor, c);

	cursor->at += taken;
	return taken;
}

static inline bool take_text(struct text_cursor *cursor, const char *text)
{
	size_t size = strlen(text);

	if (text_cursor_left(cursor) < size || memcmp(cursor->at, text, size) != 0)
		return false;
	cursor->at += size;
	return true;
}

static inline void take_blanks(struct text_cursor *cursor)
{
	while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
		cursor->at++;
}

/* Takes a number of `least` to `most` digits; another digit must not follow. */
static inline bool take_number(struct text_cursor *cursor, int least, int most, uint64_t *ret_value)
{
	const char *at = cursor->at;
	uint64_t value = 0;

	while (at < cursor->end && *at >= '0' && *at <= '9' && at - cursor->at <= most)
		value = value * 10 + (*at++ - '0');
	if (at - cursor->at < least || at - cursor->at > most)
		return false;
	cursor->at = at;
	*ret_value = value;
	return true;
}

/*
 * Takes the digits after a decimal point as nanoseconds, without those after the ninth. Returns
 * false without a digit.
 */
static inline bool take_fraction(struct text_cursor *cursor, uint32_t *ret_ns,
				 uint64_t *ret_unit_ns)
{
	uint32_t ns = 0, unit = 1000000000;
	const char *start = cursor->at;

	for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
		unit /= 10;
		ns += unit * (*cursor->at - '0');
	}
	if (cursor->at == start)
		return false;
	*ret_ns = ns;
	*ret_unit_ns = unit ? unit : 1;
	return true;
}
