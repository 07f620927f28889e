// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/line-form.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "incidents/logs/classify.h"
#include "incidents/patterns/text-cursor.h"

size_t line_find_end(const char *text, size_t size, bool last)
{
	const char *newline = memchr(text, '\n', MIN(size, (size_t)LINE_MAX_BYTES));

	if (newline)
		return newline - text;
	if (size >= LINE_MAX_BYTES)
		return LINE_MAX_BYTES;
	return last && size ? size : SIZE_MAX;
}

bool line_is_json(const struct line *line)
{
	struct text_cursor cursor = { line->text, line->text + line->size };

	take_char(&cursor, '\x1e');
	take_text(&cursor, "data: ");
	take_blanks(&cursor);
	if (text_cursor_left(&cursor) > 1 && text_cursor_is(&cursor, '[') &&
	    (cursor.at[1] == '[' || cursor.at[1] == '{'))
		return true;
	return text_cursor_is(&cursor, '{');
}

size_t line_export_name(const struct line *line)
{
	size_t size = 0;

	while (size < line->size &&
	       (isupper((unsigned char)line->text[size]) ||
		isdigit((unsigned char)line->text[size]) || line->text[size] == '_'))
		size++;
	return size;
}

struct text_cursor line_digits_after(const struct line *line, const char *name)
{
	const char *at = memmem(line->text, line->size, name, strlen(name));
	struct text_cursor part = { at ? at + strlen(name) : line->text, line->text + line->size };
	const char *end = part.at;

	while (at && end < part.end && isxdigit((unsigned char)*end))
		end++;
	part.end = at ? end : part.at;
	return part;
}
