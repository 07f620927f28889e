// SPDX-License-Identifier: GPL-2.0-only
#include "draw/lines.h"

#include <string.h>

#include "base/cleanup.h"
#include "draw/text.h"

#define BACKSLASH_WIDTH 2

struct lines {
	const struct terminal *terminal;
	struct lines_shape shape;
	struct buffer *to;
	/* Number of columns in use in the last line. */
	unsigned int used;
	/* The last line does not contain a word yet. */
	bool empty;
	unsigned int count;
};

static unsigned int lines_width(const struct lines *lines, const char *text, size_t size)
{
	_cleanup_free_ char *copy = strndup(text, size);

	if (copy)
		return text_width(lines->terminal, copy);
	lines->to->failed = true;
	return 0;
}

static void lines_put_text(struct lines *lines, const char *text, size_t size)
{
	_cleanup_free_ char *copy = strndup(text, size);

	if (copy)
		lines->used += text_put_short(lines->terminal, copy, UINT32_MAX, lines->to);
	else
		lines->to->failed = true;
	lines->empty = false;
}

/* Begins a line. If the line before is too wide, counts the rows that it takes on the terminal. */
static void lines_begin(struct lines *lines, unsigned int indent)
{
	unsigned int wrap = lines->terminal->wrap;

	buffer_u8(lines->to, '\n');
	lines->count += 1 + (wrap && lines->used ? (lines->used - 1) / wrap : 0);
	buffer_printf(lines->to, "%*s", (int)indent, "");
	lines->used = indent;
	lines->empty = true;
}

/* Tells whether a word such as "15.0" or "(4" begins a quantity, which must stay with its unit. */
static bool is_number(const char *word, size_t size)
{
	size_t digits;

	if (size && *word == '(') {
		word++;
		size--;
	}
	digits = strspn(word, "0123456789.,/-");
	return size && digits >= size && word[0] >= '0' && word[0] <= '9' &&
	       word[size - 1] >= '0' && word[size - 1] <= '9';
}

/* Returns the size of the next chunk: a word, or a number together with the word after it. */
static size_t chunk_size(const char *text)
{
	size_t size = strcspn(text, " \n"), begin = 0;

	while (is_number(text + begin, size - begin) && text[size] == ' ' && text[size + 1] &&
	       text[size + 1] != ' ' && text[size + 1] != '\n') {
		begin = size + 1;
		size = begin + strcspn(text + begin, " \n");
	}
	return size;
}

/* Returns the size of the next field. */
static size_t field_size(const char *text)
{
	size_t size = 0;

	for (;;) {
		size += strcspn(text + size, " \n");
		if (text[size] != ' ' || text[size + 1] == ' ' ||
		    (size && strchr(";,", text[size - 1])))
			return size;
		size++;
	}
}

static bool lines_fits(const struct lines *lines, unsigned int blanks, unsigned int width)
{
	unsigned int wrap = lines->terminal->wrap;

	return !wrap || lines->used + blanks + width <= wrap;
}

static void lines_put_field(struct lines *lines, unsigned int blanks, const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		size_t chunk = MIN(chunk_size(text), (size_t)(end - text));

		if (!lines->empty && !lines_fits(lines, blanks, lines_width(lines, text, chunk)))
			lines_begin(lines, lines->shape.indent);
		if (!lines->empty) {
			buffer_printf(lines->to, "%*s", (int)blanks, "");
			lines->used += blanks;
		}
		lines_put_text(lines, text, chunk);
		text += chunk;
		blanks = text < end;
		text += blanks;
	}
}

/* Puts one line of the text, without its newline. */
static void lines_put_line(struct lines *lines, const char *text)
{
	bool prose = lines->shape.prose;
	unsigned int wrap = lines->terminal->wrap, indent = lines->shape.indent, blanks = 0;
	unsigned int room = wrap > indent ? wrap - indent : 0;

	for (bool first = true; *text && *text != '\n'; first = false) {
		size_t size = field_size(text);
		unsigned int width = lines_width(lines, text, size);

		if (!prose && !first && width <= room && !lines_fits(lines, blanks, width))
			lines_begin(lines, lines->shape.indent);
		lines_put_field(lines, blanks, text, size);
		text += size;
		blanks = strspn(text, " ");
		text += blanks;
	}
}

unsigned int lines_put(const struct terminal *terminal, struct lines_shape shape, const char *text,
		       struct buffer *to)
{
	struct lines lines = { terminal, shape, to, shape.used, true, 0 };

	do {
		lines_put_line(&lines, text);
		lines_begin(&lines, 0);
		text += strcspn(text, "\n");
		text += *text == '\n';
	} while (*text);
	return lines.count;
}

/* Returns the size of the next word. Blanks within quotes belong to the word. */
static size_t word_size(const char *text)
{
	char quote = 0;
	size_t size;

	for (size = 0; text[size] && (quote || text[size] != ' '); size++) {
		if (quote ? text[size] == quote : text[size] == '\'' || text[size] == '"')
			quote = quote ? 0 : text[size];
		else if (text[size] == '\\' && quote != '\'' && text[size + 1])
			size++;
	}
	return size;
}

void lines_put_command(const struct terminal *terminal, struct lines_shape shape,
		       const char *command, struct buffer *to)
{
	struct lines lines = { terminal, shape, to, shape.used, true, 0 };

	while (*command) {
		size_t size = word_size(command);
		unsigned int last = command[size] ? BACKSLASH_WIDTH : 0;

		if (!lines.empty &&
		    !lines_fits(&lines, 1, lines_width(&lines, command, size) + last)) {
			buffer_text(to, " \\");
			lines_begin(&lines, shape.indent);
		}
		if (!lines.empty)
			lines_put_text(&lines, " ", 1);
		lines_put_text(&lines, command, size);
		command += size;
		command += strspn(command, " ");
	}
	buffer_u8(to, '\n');
}
