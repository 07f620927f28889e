// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/escapes.h"

#include <ctype.h>

#include "base/cleanup.h"

/* Colours, which terminals are sent and logs keep. */
static void drop_colours(struct buffer *scratch, struct text_cursor *taker)
{
	const char *escape = memchr(taker->at, '\x1b', text_cursor_left(taker)), *from = taker->at;
	char *copy = escape ? (char *)buffer_room(scratch, text_cursor_left(taker)) : NULL;
	size_t size = 0;

	if (!copy)
		return;
	while (from < taker->end) {
		if (*from != '\x1b') {
			copy[size++] = *from++;
			continue;
		}
		from++;
		if (from < taker->end && *from == '[')
			from++;
		while (from < taker->end && !isalpha((unsigned char)*from) && *from > ' ')
			from++;
		from += from < taker->end && *from != ' ';
	}
	scratch->size += size;
	*taker = (struct text_cursor){ copy, copy + size };
}

/* rsyslog's #012 for a byte of a message */
static void drop_octal(struct buffer *scratch, struct text_cursor *taker)
{
	size_t left = text_cursor_left(taker), size = 0;
	char *copy;

	if (!left || !memmem(taker->at, left, "#0", 2))
		return;
	copy = (char *)buffer_room(scratch, left);
	for (size_t i = 0; copy && i < left; i++) {
		const char *at = taker->at + i;

		if (left - i >= 4 && at[0] == '#' && at[1] == '0' && at[2] >= '0' && at[2] <= '3' &&
		    at[3] >= '0' && at[3] <= '7') {
			copy[size++] = (at[2] - '0') << 3 | (at[3] - '0');
			i += 3;
		} else {
			copy[size++] = *at;
		}
	}
	if (!copy)
		return;
	scratch->size += size;
	*taker = (struct text_cursor){ copy, copy + size };
}

/* &gt; and the like, of what was copied from a web page's source */
static void drop_entities(struct buffer *scratch, struct text_cursor *taker)
{
	static const struct {
		const char *name;
		char c;
	} entities[] = { { "&gt;", '>' },    { "&lt;", '<' },	{ "&amp;", '&' },
			 { "&quot;", '"' },  { "&#39;", '\'' }, { "&apos;", '\'' },
			 { "&#x27;", '\'' }, { "&nbsp;", ' ' } };
	const char *first =
		text_cursor_left(taker) ? memchr(taker->at, '&', text_cursor_left(taker)) : NULL;
	char *copy = first && memchr(first, ';', taker->end - first)
			     ? (char *)buffer_room(scratch, text_cursor_left(taker))
			     : NULL;
	struct text_cursor at = *taker;
	size_t size = 0;

	if (!copy)
		return;
	while (at.at < at.end) {
		char c = 0;

		for (size_t i = 0; !c && i < ARRAY_SIZE(entities); i++)
			if (take_text(&at, entities[i].name))
				c = entities[i].c;
		copy[size++] = c ? c : *at.at++;
	}
	scratch->size += size;
	*taker = (struct text_cursor){ copy, copy + size };
}

void escapes_drop(struct buffer *scratch, struct text_cursor *taker)
{
	drop_octal(scratch, taker);
	drop_entities(scratch, taker);
	drop_colours(scratch, taker);
}
