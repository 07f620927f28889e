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

/* Cuts the text from `begin` on behind the last row that it may take, at the end of a word. */
static void labelled_lines_cut(struct labelled_lines *lines, size_t begin)
{
	static const char instead[] = " ..\n";
	struct buffer *to = lines->to;
	size_t at = begin, end;

	for (unsigned int rows = 0; at < to->size && rows < lines->most; at++)
		rows += to->data[at] == '\n';
	if (at >= to->size || to->failed)
		return;
	/* room for what stands instead */
	for (end = at - 1; end > begin && (to->data[end] != ' ' || at - end < sizeof(instead));)
		end--;
	to->size = end;
	buffer_text(to, instead);
}

void labelled_lines_end(struct labelled_lines *lines, const char *label, enum terminal_style style)
{
	const struct lines_shape shape = { .used = LABELLED_LINES_INDENT,
					   .indent = LABELLED_LINES_INDENT,
					   .prose = true };
	size_t begin = lines->to->size;

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
	if (lines->most)
		labelled_lines_cut(lines, begin);
}

void labelled_lines_say_short(struct labelled_lines *lines)
{
	labelled_lines_say(lines, "shortened to fit: a pipe or a taller terminal shows all");
	labelled_lines_end(lines, "", STYLE_PLAIN);
}

bool labelled_lines_is_tall(const struct labelled_lines *lines, size_t begin, unsigned int below)
{
	unsigned int rows = below + 1;

	for (size_t at = begin; at < lines->to->size; at++)
		rows += lines->to->data[at] == '\n';
	return lines->terminal->height && rows > lines->terminal->height;
}

void labelled_lines_done(struct labelled_lines *lines)
{
	buffer_done(&lines->line);
}
