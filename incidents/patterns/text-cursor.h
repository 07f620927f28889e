/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* A place in a text that others wrote, with its end. Each take_ either takes its form as a whole or
 * leaves the taker where it was. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text_cursor {
	const char *at, *end;
};

static inline size_t text_cursor_left(const struct text_cursor *taker)
{
	return taker->end - taker->at;
}

static inline bool text_cursor_is(const struct text_cursor *taker, char c)
{
	return taker->at < taker->end && *taker->at == c;
}

static inline bool take_char(struct text_cursor *taker, char c)
{
	bool taken = text_cursor_is(taker, c);

	taker->at += taken;
	return taken;
}

static inline bool take_text(struct text_cursor *taker, const char *text)
{
	size_t size = strlen(text);

	if (text_cursor_left(taker) < size || memcmp(taker->at, text, size) != 0)
		return false;
	taker->at += size;
	return true;
}

static inline void take_blanks(struct text_cursor *taker)
{
	while (taker->at < taker->end && (*taker->at == ' ' || *taker->at == '\t'))
		taker->at++;
}

/* From least to most digits, and no digit behind them. */
static inline bool take_number(struct text_cursor *taker, int least, int most, uint64_t *ret_value)
{
	const char *at = taker->at;
	uint64_t value = 0;

	while (at < taker->end && *at >= '0' && *at <= '9' && at - taker->at <= most)
		value = value * 10 + (*at++ - '0');
	if (at - taker->at < least || at - taker->at > most)
		return false;
	taker->at = at;
	*ret_value = value;
	return true;
}

/* The digits behind a decimal point, as billionths; digits beyond the ninth are cut off. False when
 * there are none. */
static inline bool take_fraction(struct text_cursor *taker, uint32_t *ret_ns, uint64_t *ret_unit_ns)
{
	uint32_t ns = 0, unit = 1000000000;
	const char *start = taker->at;

	for (; taker->at < taker->end && *taker->at >= '0' && *taker->at <= '9'; taker->at++) {
		unit /= 10;
		ns += unit * (*taker->at - '0');
	}
	if (taker->at == start)
		return false;
	*ret_ns = ns;
	*ret_unit_ns = unit ? unit : 1;
	return true;
}
