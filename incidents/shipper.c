// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/shipper.h"

bool take_labels(struct taker *taker)
{
	struct taker at = *taker;
	bool quoted = false;

	if (!take_char(&at, '{') || taker_is(&at, '"') || taker_is(&at, ' '))
		return false;
	for (; at.at < at.end && (quoted || *at.at != '}'); at.at++) {
		if (*at.at == '\\' && quoted && at.at + 1 < at.end)
			at.at++;
		else if (*at.at == '"')
			quoted = !quoted;
	}
	if (!take_char(&at, '}'))
		return false;
	*taker = at;
	return true;
}

bool take_stream(struct taker *taker)
{
	struct taker at = *taker;

	if (!take_text(&at, "stdout ") && !take_text(&at, "stderr "))
		return false;
	if (!take_text(&at, "F ") && !take_text(&at, "P "))
		return false;
	*taker = at;
	return true;
}

/* The next column, without its tab. False when there is no other one. */
static bool take_column(struct taker *taker, struct taker *ret_column)
{
	const char *tab = memchr(taker->at, '\t', taker_left(taker));

	if (!tab)
		return false;
	*ret_column = (struct taker){ taker->at, tab };
	taker->at = tab + 1;
	return true;
}

static bool is_milliseconds(struct taker column, struct stamp *ret_stamp)
{
	return taker_left(&column) == 13 && stamp_from_number(column.at, 13, ret_stamp);
}

bool take_events(struct taker *taker, struct stamp *ret_stamp)
{
	struct taker at = *taker, column, last;
	struct stamp stamp, said;
	const char *tab;

	if (!take_text(&at, "EVENTS\t") || !take_column(&at, &column))
		return false;
	if (!is_milliseconds(column, &stamp) &&
		!(take_column(&at, &column) && is_milliseconds(column, &stamp) &&
			take_column(&at, &column)))
		return false;
	tab = taker_left(&at) ? memrchr(at.at, '\t', taker_left(&at)) : NULL;
	last = (struct taker){ tab ? tab + 1 : at.end, at.end };
	if (is_milliseconds(last, &said)) {
		stamp = said;
		at.end = tab;
	}
	*ret_stamp = stamp;
	*taker = at;
	return true;
}
