// SPDX-License-Identifier: GPL-2.0-only
#include "draw/mark-line.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "draw/text.h"

/* "v 03:12:07.125  " */
#define LISTED_WIDTH 16

/* A greater sign replaces a smaller one in the same column. */
enum sign {
	SIGN_NONE,
	SIGN_STALL,
	SIGN_BEGIN,
	SIGN_REQUESTED,
	SIGN_INCIDENT,
	SIGNS,
};

static const char *const ascii_signs[SIGNS] = { " ", "-", "+", "*", "v" };
static const char *const unicode_signs[SIGNS] = { " ", "─", "├", "*", "▼" };

bool mark_line_needed(const struct mark_line *line)
{
	return line->count || line->at_ns;
}

static const char *sign_text(const struct terminal *terminal, enum sign sign)
{
	return terminal->unicode ? unicode_signs[sign] : ascii_signs[sign];
}

/* Returns the cell of a moment. A moment outside of the line gets the nearest cell. */
static unsigned int mark_line_cell(const struct mark_line *line, uint64_t ns)
{
	double part;

	if (ns <= line->from_ns)
		return 0;
	part = (double)(ns - line->from_ns) / (line->to_ns - line->from_ns);
	return part < 1 ? (unsigned int)(part * line->cells) : line->cells - 1;
}

static void mark_line_set(uint8_t *signs, size_t at, enum sign sign)
{
	signs[at] = MAX(signs[at], (uint8_t)sign);
}

/*
 * Adds the signs of a mark. A stall may begin before the line, and its incident may come behind the
 * line.
 */
static void mark_line_add(const struct mark_line *line, const struct mark *mark, uint8_t *signs)
{
	bool behind = mark->time_ns >= line->to_ns;
	size_t end = (size_t)mark_line_cell(line, mark->time_ns) * line->cell_width;

	if (mark->stall_ns && mark->stall_ns < mark->time_ns) {
		size_t begin = (size_t)mark_line_cell(line, mark->stall_ns) * line->cell_width;

		for (size_t i = begin; i < end + (behind ? line->cell_width : 0); i++)
			mark_line_set(signs, i, SIGN_STALL);
		if (mark->stall_ns >= line->from_ns)
			mark_line_set(signs, begin, SIGN_BEGIN);
	}
	if (!behind)
		mark_line_set(signs, end, SIGN_INCIDENT);
}

static bool is_alert(enum sign sign)
{
	return sign == SIGN_STALL || sign == SIGN_BEGIN || sign == SIGN_INCIDENT;
}

void mark_line_put(const struct mark_line *line, const struct terminal *terminal,
		   struct buffer *text)
{
	size_t width = (size_t)line->cells * line->cell_width, used = width;
	_cleanup_free_ uint8_t *signs = calloc(width + 1, sizeof(*signs));
	bool alert = false;

	if (!signs) {
		text->failed = true;
		return;
	}
	if (line->at_ns)
		mark_line_set(signs, (size_t)mark_line_cell(line, line->at_ns) * line->cell_width,
			      SIGN_REQUESTED);
	for (size_t i = 0; i < line->count; i++)
		mark_line_add(line, &line->marks[i], signs);
	while (used && signs[used - 1] == SIGN_NONE)
		used--;
	for (size_t i = 0; i < used; i++) {
		if (is_alert(signs[i]) != alert)
			terminal_style(terminal, alert ? STYLE_PLAIN : STYLE_ALERT, text);
		alert = is_alert(signs[i]);
		buffer_text(text, sign_text(terminal, signs[i]));
	}
	if (alert)
		terminal_style(terminal, STYLE_PLAIN, text);
}

void mark_list_put(const struct mark *marks, size_t count, size_t shown, bool utc,
		   const struct terminal *terminal, struct buffer *text)
{
	unsigned int wrap = terminal->wrap, room = wrap > LISTED_WIDTH ? wrap - LISTED_WIDTH : 1;

	for (size_t i = 0; i < MIN(count, shown); i++) {
		char time[TIME_TEXT_SIZE];

		time_format(marks[i].time_ns, utc, 3, time);
		buffer_printf(text, "%s %.12s  ", sign_text(terminal, SIGN_INCIDENT), time + 11);
		text_put_short(terminal, marks[i].what, wrap ? room : UINT32_MAX, text);
		buffer_u8(text, '\n');
	}
	if (count > shown)
		buffer_printf(text, "and %zu more\n", count - shown);
}
