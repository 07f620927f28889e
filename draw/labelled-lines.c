// SPDX-License-Identifier: GPL-2.0-only
#include "draw/labelled-lines.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/foreign.h"
#include "draw/lines.h"

#define PIECE_SIZE 2048

void labelled_lines_say(struct labelled_lines *lines, const char *format, ...)
{
	char text[PIECE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	buffer_text(&lines->line, text);
}

void labelled_lines_end(struct labelled_lines *lines, const char *label, enum terminal_style style)
{
	const struct lines_shape shape = { .used = LABELLED_LINES_INDENT,
					   .indent = LABELLED_LINES_INDENT,
					   .prose = true };

	buffer_u8(&lines->line, 0);
	if (buffer_failed(&lines->line)) {
		lines->to->failed = true;
		return;
	}
	/* a newline in the name of a function would look like a line of its own */
	foreign_clean((char *)lines->line.data);
	terminal_style(lines->terminal, style, lines->to);
	buffer_printf(lines->to, "%-*s", LABELLED_LINES_INDENT, label);
	terminal_style(lines->terminal, STYLE_PLAIN, lines->to);
	lines_put(lines->terminal, shape, (const char *)lines->line.data, lines->to);
	lines->line.size = 0;
}

void labelled_lines_done(struct labelled_lines *lines)
{
	buffer_done(&lines->line);
}
