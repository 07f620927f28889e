// SPDX-License-Identifier: GPL-2.0-only
#include "draw/columns.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "draw/lines.h"
#include "draw/text.h"

#define SPACE 2
#define REMARK_INDENT 4

/*
 * The layout of a table on a terminal: the columns that it shows, their widths, and the columns
 * that show brief texts.
 */
struct columns_plan {
	unsigned int widths[COLUMNS_MAX];
	bool shown[COLUMNS_MAX];
	bool brief[COLUMNS_MAX];
};

void columns_done(struct columns *columns)
{
	buffer_done(&columns->texts);
	array_done(&columns->starts);
	array_done(&columns->styles);
}

static void columns_add_text(struct columns *columns, const char *text)
{
	if (array_push(&columns->starts, columns->texts.size) < 0)
		columns->texts.failed = true;
	buffer_bytes(&columns->texts, text, strlen(text) + 1);
}

void columns_add_brief(struct columns *columns, const char *text, const char *brief)
{
	columns_add_text(columns, text);
	columns_add_text(columns, brief ? brief : text);
}

void columns_add(struct columns *columns, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int size;

	va_start(args, format);
	size = vasprintf(&text, format, args);
	va_end(args);
	if (size < 0) {
		text = NULL;
		columns->texts.failed = true;
	}
	columns_add_brief(columns, text ? text : "", NULL);
}

void columns_end_row(struct columns *columns, const char *remark)
{
	columns_add_text(columns, remark ? remark : "");
	if (array_push(&columns->styles, STYLE_PLAIN) < 0)
		columns->texts.failed = true;
	columns->rows++;
	assert(columns->texts.failed ||
	       columns->starts.count == columns->rows * (2 * columns->count + 1));
}

void columns_style_row(struct columns *columns, enum terminal_style style)
{
	if (columns->styles.count)
		columns->styles.items[columns->styles.count - 1] = style;
}

static const char *columns_text(const struct columns *columns, size_t row, size_t at)
{
	size_t start = columns->starts.items[row * (2 * columns->count + 1) + at];

	return (const char *)columns->texts.data + start;
}

static const char *columns_cell(const struct columns *columns, const struct columns_plan *plan,
				size_t row, size_t column)
{
	return columns_text(columns, row, 2 * column + plan->brief[column]);
}

static void columns_measure(const struct columns *columns, const struct terminal *terminal,
			    size_t column, struct columns_plan *plan)
{
	unsigned int width = text_width(terminal, columns->list[column].title);

	for (size_t row = 0; row < columns->rows; row++)
		width = MAX(width, text_width(terminal, columns_cell(columns, plan, row, column)));
	plan->widths[column] = width;
}

static unsigned int columns_row_width(const struct columns *columns,
				      const struct columns_plan *plan)
{
	unsigned int width = 0;

	for (size_t i = 0; i < columns->count; i++)
		if (plan->shown[i])
			width += plan->widths[i] + (width ? SPACE : 0);
	return width;
}

static void columns_yield_one(const struct columns *columns, const struct terminal *terminal,
			      size_t column, unsigned int excess, struct columns_plan *plan)
{
	const struct columns_column *about = &columns->list[column];
	unsigned int width = plan->widths[column];

	if (about->yield == COLUMNS_LEAVES) {
		plan->shown[column] = false;
	} else if (about->yield == COLUMNS_SHORTENS) {
		plan->brief[column] = true;
		columns_measure(columns, terminal, column, plan);
	} else if (about->yield == COLUMNS_SHRINKS && width > about->least) {
		plan->widths[column] = MAX(about->least, width - MIN(excess, width));
	}
}

static void columns_plan(const struct columns *columns, const struct terminal *terminal,
			 struct columns_plan *plan)
{
	*plan = (struct columns_plan){ .shown = { false } };
	for (size_t i = 0; i < columns->count; i++) {
		plan->shown[i] = true;
		columns_measure(columns, terminal, i, plan);
	}
	for (unsigned int turn = 1; terminal->wrap && turn <= columns->count; turn++)
		for (size_t i = 0; i < columns->count; i++) {
			unsigned int width = columns_row_width(columns, plan);

			if (columns->list[i].turn == turn && width > terminal->wrap)
				columns_yield_one(columns, terminal, i, width - terminal->wrap,
						  plan);
		}
}

/* Puts a cell, and pads it unless it is the last one of a line. Returns the columns used. */
static unsigned int columns_put_cell(const struct columns_column *column,
				     const struct terminal *terminal, unsigned int width,
				     const char *text, bool last, struct buffer *to)
{
	unsigned int used = MIN(text_width(terminal, text), width);

	if (column->right)
		buffer_printf(to, "%*s", (int)(width - used), "");
	text_put_middle(terminal, text, width, to);
	if (last && !column->right)
		return used;
	if (!column->right)
		buffer_printf(to, "%*s", (int)(width - used), "");
	return width;
}

static const char *columns_shown(const struct columns *columns, const struct columns_plan *plan,
				 const size_t *row, size_t column)
{
	return row ? columns_cell(columns, plan, *row, column) : columns->list[column].title;
}

/* Returns the style of a cell, or of a title. */
static enum terminal_style columns_style(const struct columns *columns, const size_t *row,
					 size_t column)
{
	if (!row)
		return STYLE_BOLD;
	return columns->list[column].styled ? columns->styles.items[*row] : STYLE_PLAIN;
}

/* Puts a row of cells, or the titles. Omits empty cells at the end. Returns the columns used. */
static unsigned int columns_put_cells(const struct columns *columns,
				      const struct terminal *terminal,
				      const struct columns_plan *plan, const size_t *row,
				      bool filled, struct buffer *to)
{
	enum terminal_style style = STYLE_PLAIN, next;
	unsigned int used = 0;
	size_t last = 0;

	for (size_t i = 0; i < columns->count; i++)
		if (plan->shown[i] && *columns_shown(columns, plan, row, i))
			last = i;
	for (size_t i = 0; i <= last; i++) {
		if (!plan->shown[i])
			continue;
		if (used)
			buffer_printf(to, "%*s", SPACE, "");
		used += used ? SPACE : 0;
		next = columns_style(columns, row, i);
		if (next != style)
			terminal_style(terminal, next, to);
		style = next;
		used += columns_put_cell(&columns->list[i], terminal, plan->widths[i],
					 columns_shown(columns, plan, row, i), i == last && !filled,
					 to);
	}
	if (style != STYLE_PLAIN)
		terminal_style(terminal, STYLE_PLAIN, to);
	return used;
}

static void columns_put_row(const struct columns *columns, const struct terminal *terminal,
			    const struct columns_plan *plan, size_t row, struct buffer *to)
{
	const char *remark = columns_text(columns, row, 2 * columns->count);
	struct buffer filled = { 0 };
	unsigned int used = columns_put_cells(columns, terminal, plan, &row, true, &filled) + SPACE;

	if (*remark && (!terminal->wrap || used + text_width(terminal, remark) <= terminal->wrap)) {
		buffer_bytes(to, filled.data, filled.size);
		buffer_printf(to, "%*s", SPACE, "");
		text_put_short(terminal, remark, UINT32_MAX, to);
		buffer_u8(to, '\n');
	} else {
		columns_put_cells(columns, terminal, plan, &row, false, to);
		buffer_u8(to, '\n');
		if (*remark) {
			buffer_printf(to, "%*s", REMARK_INDENT, "");
			lines_put(terminal,
				  (struct lines_shape){ REMARK_INDENT, REMARK_INDENT, false },
				  remark, to);
		}
	}
	to->failed |= filled.failed;
	buffer_done(&filled);
}

static void columns_put_head(const struct columns *columns, const struct terminal *terminal,
			     const struct columns_plan *plan, struct buffer *to)
{
	bool titled = false, remark = columns->remark_title && !terminal->wrap;

	for (size_t i = 0; i < columns->count; i++)
		titled |= *columns->list[i].title;
	if (!titled)
		return;
	columns_put_cells(columns, terminal, plan, NULL, remark, to);
	if (remark)
		buffer_printf(to, "%*s%s", SPACE, "", columns->remark_title);
	buffer_u8(to, '\n');
}

void columns_put(const struct columns *columns, const struct terminal *terminal, struct buffer *to)
{
	struct columns_plan plan;

	if (columns->texts.failed) {
		to->failed = true;
		return;
	}
	if (!columns->rows)
		return;
	columns_plan(columns, terminal, &plan);
	columns_put_head(columns, terminal, &plan, to);
	for (size_t row = 0; row < columns->rows; row++)
		columns_put_row(columns, terminal, &plan, row, to);
}
