// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/log-wrapper.h"

#include <ctype.h>

bool take_labels(struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;
	bool quoted = false;

	if (!take_char(&at, '{') || text_cursor_is(&at, '"') || text_cursor_is(&at, ' '))
		return false;
	for (; at.at < at.end && (quoted || *at.at != '}'); at.at++) {
		if (*at.at == '\\' && quoted && at.at + 1 < at.end)
			at.at++;
		else if (*at.at == '"')
			quoted = !quoted;
	}
	if (!take_char(&at, '}'))
		return false;
	*cursor = at;
	return true;
}

bool take_stream(struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;

	if (!take_text(&at, "stdout ") && !take_text(&at, "stderr "))
		return false;
	if (!take_text(&at, "F ") && !take_text(&at, "P "))
		return false;
	*cursor = at;
	return true;
}

/* Takes the next column without its tab. Returns false if no tab follows. */
static bool take_column(struct text_cursor *cursor, struct text_cursor *ret_column)
{
	const char *tab = memchr(cursor->at, '\t', text_cursor_left(cursor));

	if (!tab)
		return false;
	*ret_column = (struct text_cursor){ cursor->at, tab };
	cursor->at = tab + 1;
	return true;
}

static bool is_milliseconds(struct text_cursor column, struct stamp *ret_stamp)
{
	return text_cursor_left(&column) == 13 && stamp_from_number(column.at, 13, ret_stamp);
}

bool take_events(struct text_cursor *cursor, struct stamp *ret_stamp)
{
	struct text_cursor at = *cursor, column, last;
	struct stamp stamp, logged;
	const char *tab;

	if (!take_text(&at, "EVENTS\t") || !take_column(&at, &column))
		return false;
	if (!is_milliseconds(column, &stamp) &&
	    !(take_column(&at, &column) && is_milliseconds(column, &stamp) &&
	      take_column(&at, &column)))
		return false;
	tab = text_cursor_left(&at) ? memrchr(at.at, '\t', text_cursor_left(&at)) : NULL;
	last = (struct text_cursor){ tab ? tab + 1 : at.end, at.end };
	if (is_milliseconds(last, &logged)) {
		stamp = logged;
		at.end = tab;
	}
	*ret_stamp = stamp;
	*cursor = at;
	return true;
}

bool take_quoted_stamp(struct text_cursor *cursor, struct stamp *ret_stamp)
{
	struct text_cursor at = *cursor;
	struct stamp stamp;

	if (!take_char(&at, '"') || !stamp_take(&at, &stamp) || !take_char(&at, '"') ||
	    !text_cursor_is(&at, ','))
		return false;
	*ret_stamp = stamp;
	*cursor = at;
	return true;
}

/*
 * Copies a quoted text to the scratch. A quote inside is doubled or follows a backslash. The text's
 * end may be missing.
 */
static bool take_quoted(struct buffer *scratch, struct text_cursor *cursor, char escape,
			struct text_cursor *ret_text)
{
	struct text_cursor at = *cursor;
	char *copy = (char *)buffer_room(scratch, text_cursor_left(&at));
	size_t size = 0;

	if (!copy || !take_char(&at, '"'))
		return false;
	for (; at.at < at.end; at.at++) {
		if (*at.at == escape && text_cursor_left(&at) > 1 &&
		    (escape != '"' || at.at[1] == '"'))
			at.at++;
		else if (*at.at == '"')
			break;
		copy[size++] = *at.at;
	}
	take_char(&at, '"');
	scratch->size += size;
	*ret_text = (struct text_cursor){ copy, copy + size };
	*cursor = at;
	return true;
}

bool take_columns(struct buffer *scratch, struct text_cursor *cursor)
{
	struct text_cursor at = *cursor, column, longest = { NULL, NULL };
	size_t used = scratch->size;
	bool quoted = false;

	do {
		if (take_quoted(scratch, &at, '"', &column)) {
			quoted = true;
		} else {
			const char *comma = memchr(at.at, ',', text_cursor_left(&at));

			column = (struct text_cursor){ at.at, comma ? comma : at.end };
			at.at = memchr(column.at, '"', text_cursor_left(&column)) ? NULL
										  : column.end;
			if (!at.at)
				break;
		}
		if (text_cursor_left(&column) > text_cursor_left(&longest))
			longest = column;
	} while (take_char(&at, ','));
	if (quoted && at.at == at.end && text_cursor_left(&longest)) {
		*cursor = longest;
		return true;
	}
	scratch->size = used;
	return false;
}

/* Takes a name and the equals sign behind it. */
static bool log_wrapper_take_name(struct text_cursor *cursor, struct text_cursor *ret_name)
{
	struct text_cursor at = *cursor;

	while (at.at < at.end && (islower((unsigned char)*at.at) || strchr("_.@", *at.at)))
		at.at++;
	*ret_name = (struct text_cursor){ cursor->at, at.at };
	if (at.at == cursor->at || !take_char(&at, '='))
		return false;
	*cursor = at;
	return true;
}

static bool is_one_of(struct text_cursor name, const char *const *names)
{
	for (; *names; names++)
		if (text_cursor_left(&name) == strlen(*names) &&
		    memcmp(name.at, *names, text_cursor_left(&name)) == 0)
			return true;
	return false;
}

bool take_logfmt(struct buffer *scratch, struct text_cursor *cursor, struct stamp *ret_stamp)
{
	static const char *const times[] = { "ts", "t", "time", "timestamp", "@timestamp", NULL };
	static const char *const messages[] = { "msg", "message", NULL };
	struct text_cursor at = *cursor, name, value;
	struct stamp stamp, logged;
	size_t used = scratch->size;
	bool has_stamp = false;

	while (log_wrapper_take_name(&at, &name)) {
		if (!take_quoted(scratch, &at, '\\', &value)) {
			const char *blank = memchr(at.at, ' ', text_cursor_left(&at));

			value = (struct text_cursor){ at.at, blank ? blank : at.end };
			at.at = value.end;
		} else if (is_one_of(name, messages)) {
			*cursor = value;
			if (has_stamp)
				*ret_stamp = logged;
			return true;
		}
		if (is_one_of(name, times) && stamp_take(&value, &stamp)) {
			has_stamp = true;
			logged = stamp;
		}
		take_blanks(&at);
	}
	scratch->size = used;
	return false;
}

bool take_quotes(struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;
	char quote;

	if (text_cursor_left(&at) > 1 && at.end[-1] == ',')
		at.end--;
	if (text_cursor_left(&at) < 3 || !strchr("\"'`", *at.at) || at.end[-1] != *at.at)
		return false;
	quote = *at.at;
	at = (struct text_cursor){ at.at + 1, at.end - 1 };
	if (memchr(at.at, quote, text_cursor_left(&at)))
		return false;
	*cursor = at;
	return true;
}

bool take_member(struct text_cursor *cursor)
{
	struct text_cursor at = *cursor;

	if (!take_text(&at, "message: ") ||
	    !(text_cursor_is(&at, '"') || text_cursor_is(&at, '\'')))
		return false;
	*cursor = at;
	return true;
}
