// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/log-wrapper.h"

#include <ctype.h>

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

bool take_quoted_stamp(struct taker *taker, struct stamp *ret_stamp)
{
	struct taker at = *taker;
	struct stamp stamp;

	if (!take_char(&at, '"') || !stamp_take(&at, &stamp) || !take_char(&at, '"') ||
		!taker_is(&at, ','))
		return false;
	*ret_stamp = stamp;
	*taker = at;
	return true;
}

/* What is between quotes, in the scratch; a quote within is written as two, or behind a backslash. The end may be cut off. */
static bool take_quoted(
	struct buffer *scratch, struct taker *taker, char escape, struct taker *ret_text)
{
	struct taker at = *taker;
	char *copy = (char *)buffer_room(scratch, taker_left(&at));
	size_t size = 0;

	if (!copy || !take_char(&at, '"'))
		return false;
	for (; at.at < at.end; at.at++) {
		if (*at.at == escape && taker_left(&at) > 1 && (escape != '"' || at.at[1] == '"'))
			at.at++;
		else if (*at.at == '"')
			break;
		copy[size++] = *at.at;
	}
	take_char(&at, '"');
	scratch->size += size;
	*ret_text = (struct taker){ copy, copy + size };
	*taker = at;
	return true;
}

bool take_columns(struct buffer *scratch, struct taker *taker)
{
	struct taker at = *taker, column, longest = { NULL, NULL };
	size_t used = scratch->size;
	bool quoted = false;

	do {
		if (take_quoted(scratch, &at, '"', &column)) {
			quoted = true;
		} else {
			const char *comma = memchr(at.at, ',', taker_left(&at));

			column = (struct taker){ at.at, comma ? comma : at.end };
			at.at = memchr(column.at, '"', taker_left(&column)) ? NULL : column.end;
			if (!at.at)
				break;
		}
		if (taker_left(&column) > taker_left(&longest))
			longest = column;
	} while (take_char(&at, ','));
	if (quoted && at.at == at.end && taker_left(&longest)) {
		*taker = longest;
		return true;
	}
	scratch->size = used;
	return false;
}

/* A name before an equals sign. */
static bool take_name(struct taker *taker, struct taker *ret_name)
{
	struct taker at = *taker;

	while (at.at < at.end && (islower((unsigned char)*at.at) || strchr("_.@", *at.at)))
		at.at++;
	*ret_name = (struct taker){ taker->at, at.at };
	if (at.at == taker->at || !take_char(&at, '='))
		return false;
	*taker = at;
	return true;
}

static bool is_one_of(struct taker name, const char *const *names)
{
	for (; *names; names++)
		if (taker_left(&name) == strlen(*names) &&
			memcmp(name.at, *names, taker_left(&name)) == 0)
			return true;
	return false;
}

bool take_logfmt(struct buffer *scratch, struct taker *taker, struct stamp *ret_stamp)
{
	static const char *const times[] = { "ts", "t", "time", "timestamp", "@timestamp", NULL };
	static const char *const messages[] = { "msg", "message", NULL };
	struct taker at = *taker, name, value;
	struct stamp stamp, said;
	size_t used = scratch->size;
	bool has_stamp = false;

	while (take_name(&at, &name)) {
		if (!take_quoted(scratch, &at, '\\', &value)) {
			const char *blank = memchr(at.at, ' ', taker_left(&at));

			value = (struct taker){ at.at, blank ? blank : at.end };
			at.at = value.end;
		} else if (is_one_of(name, messages)) {
			*taker = value;
			if (has_stamp)
				*ret_stamp = said;
			return true;
		}
		if (is_one_of(name, times) && stamp_take(&value, &stamp)) {
			has_stamp = true;
			said = stamp;
		}
		take_blanks(&at);
	}
	scratch->size = used;
	return false;
}

bool take_quotes(struct taker *taker)
{
	struct taker at = *taker;
	char quote;

	if (taker_left(&at) > 1 && at.end[-1] == ',')
		at.end--;
	if (taker_left(&at) < 3 || !strchr("\"'`", *at.at) || at.end[-1] != *at.at)
		return false;
	quote = *at.at;
	at = (struct taker){ at.at + 1, at.end - 1 };
	if (memchr(at.at, quote, taker_left(&at)))
		return false;
	*taker = at;
	return true;
}

bool take_member(struct taker *taker)
{
	struct taker at = *taker;

	if (!take_text(&at, "message: ") || !(taker_is(&at, '"') || taker_is(&at, '\'')))
		return false;
	*taker = at;
	return true;
}
