// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/escapes.h"

#include <ctype.h>

#include "base/cleanup.h"

/* Drops the colour codes that programs send to terminals and that logs keep. */
static void drop_colours(struct buffer *scratch, struct text_cursor *cursor)
{
	const char *escape = memchr(cursor->at, '\x1b', text_cursor_left(cursor)),
		   *from = cursor->at;
	char *copy = escape ? (char *)buffer_room(scratch, text_cursor_left(cursor)) : NULL;
	size_t size = 0;

	if (!copy)
		return;
	while (from < cursor->end) {
		if (*from != '\x1b') {
			copy[size++] = *from++;
			continue;
		}
		from++;
		if (from < cursor->end && *from == '[')
			from++;
		while (from < cursor->end && !isalpha((unsigned char)*from) && *from > ' ')
			from++;
		from += from < cursor->end && *from != ' ';
	}
	scratch->size += size;
	*cursor = (struct text_cursor){ copy, copy + size };
}

/* Decodes rsyslog's escapes such as #012. */
static void drop_octal(struct buffer *scratch, struct text_cursor *cursor)
{
	size_t left = text_cursor_left(cursor), size = 0;
	char *copy;

	if (!left || !memmem(cursor->at, left, "#0", 2))
		return;
	copy = (char *)buffer_room(scratch, left);
	for (size_t i = 0; copy && i < left; i++) {
		const char *at = cursor->at + i;

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
	*cursor = (struct text_cursor){ copy, copy + size };
}

/* Decodes escapes such as &gt; in text copied from a web page's source. */
static void drop_entities(struct buffer *scratch, struct text_cursor *cursor)
{
	static const struct {
		const char *name;
		char c;
	} entities[] = { { "&gt;", '>' },    { "&lt;", '<' },	{ "&amp;", '&' },
			 { "&quot;", '"' },  { "&#39;", '\'' }, { "&apos;", '\'' },
			 { "&#x27;", '\'' }, { "&nbsp;", ' ' } };
	const char *first =
		text_cursor_left(cursor) ? memchr(cursor->at, '&', text_cursor_left(cursor)) : NULL;
	char *copy = first && memchr(first, ';', cursor->end - first)
			     ? (char *)buffer_room(scratch, text_cursor_left(cursor))
			     : NULL;
	struct text_cursor at = *cursor;
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
	*cursor = (struct text_cursor){ copy, copy + size };
}

void escapes_drop(struct buffer *scratch, struct text_cursor *cursor)
{
	drop_octal(scratch, cursor);
	drop_entities(scratch, cursor);
	drop_colours(scratch, cursor);
}
