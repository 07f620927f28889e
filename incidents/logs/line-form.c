// SPDX-License-Identifier: GPL-2.0-only
#include "incidents/logs/line-form.h"

#include <ctype.h>

#include "incidents/logs/classify.h"
#include "incidents/patterns/text-cursor.h"

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
