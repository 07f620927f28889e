// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers come first, so that they stay in columns whatever the length of the names. Both signs and
 * marks tell more from less, because not everybody sees colours.
 */
#include "draw/changes-table.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "draw/lines.h"
#include "draw/text.h"

#define ROWS_MIN 1
/* The number of rows of a table without a terminal. */
#define ROWS_USUAL 20
#define SHARE_WIDTH 8
/* A narrower terminal does not show the parts of the busy time. */
#define WIDTH_PARTS 48
/* A narrower terminal shows only the change. */
#define WIDTH_SIDES 32

struct changes_drawing {
	const struct changes *changes;
	const struct terminal *terminal;
	struct buffer *text;
};

static const char *const changes_table_titles[CHANGES_BYS] = {
	[CHANGES_BY_NAME] = "threads of one name",
	[CHANGES_BY_THREAD] = "thread",
	[CHANGES_BY_CGROUP] = "cgroup",
	[CHANGES_BY_POD] = "pod",
	[CHANGES_BY_FUNCTION] = "function",
	[CHANGES_BY_PATH] = "function < its callers",
	[CHANGES_BY_CPU] = "CPU",
};

static bool has_parts(const struct changes_drawing *drawing)
{
	return drawing->terminal->width >= WIDTH_PARTS;
}

static bool has_sides(const struct changes_drawing *drawing)
{
	return drawing->terminal->width >= WIDTH_SIDES;
}

static unsigned int changes_table_used(const struct changes_drawing *drawing)
{
	return 1 + SHARE_WIDTH * (1 + 2 * has_sides(drawing) + has_parts(drawing));
}

static void changes_table_put_mark(const struct changes_drawing *drawing, bool stands_out,
				   double change)
{
	const struct terminal *terminal = drawing->terminal;

	if (!stands_out) {
		buffer_u8(drawing->text, ' ');
		return;
	}
	terminal_style(terminal, change > 0 ? STYLE_ALERT : STYLE_GOOD, drawing->text);
	if (terminal->unicode)
		buffer_text(drawing->text, change > 0 ? "\u25b2" : "\u25bc");
	else
		buffer_text(drawing->text, "!");
	terminal_style(terminal, STYLE_PLAIN, drawing->text);
}

/* Puts a signed share, such as "+87.3" or "-0.4". */
static void changes_table_put_change(const struct changes_drawing *drawing,
				     enum terminal_style style, double change)
{
	double tenths = round(fabs(change) * 1000) / 10;
	char shown[SHARE_TEXT_SIZE];

	snprintf(shown, sizeof(shown), "%s%.1f", tenths == 0 ? "" : change > 0 ? "+" : "-", tenths);
	terminal_style(drawing->terminal, tenths == 0 ? STYLE_DIM : style, drawing->text);
	buffer_printf(drawing->text, " %*s", SHARE_WIDTH - 1, shown);
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

/* Puts a load, or a word for a load that the other side alone has. */
static void changes_table_put_load(const struct changes_drawing *drawing, double cpus,
				   const char *none)
{
	char shown[SHARE_TEXT_SIZE];

	terminal_style(drawing->terminal, cpus < 0.0005 ? STYLE_DIM : STYLE_PLAIN, drawing->text);
	buffer_printf(drawing->text, " %*s", SHARE_WIDTH - 1,
		      cpus > 0 ? share_cell(cpus, shown) : none);
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

/* Puts the whole name of a row, NUL-terminated. */
static void changes_table_put_whole_name(const struct changes_drawing *drawing,
					 const struct change *row, struct buffer *name)
{
	if (!row->name)
		buffer_printf(name, "CPU %u", row->cpu);
	else if (drawing->changes->by == CHANGES_BY_PATH)
		text_put_path(row->name, name);
	else
		buffer_text(name, row->name);
	if (row->kernel)
		buffer_text(name, "  (kernel)");
	buffer_u8(name, 0);
}

static void changes_table_put_name(const struct changes_drawing *drawing, const struct change *row)
{
	const struct terminal *terminal = drawing->terminal;
	unsigned int used = changes_table_used(drawing) + 2, room = UINT32_MAX;
	_cleanup_(buffer_done) struct buffer name = { 0 };
	/* the ends of cgroups differ */
	bool middle = drawing->changes->by == CHANGES_BY_CGROUP;

	if (terminal->wrap)
		room = terminal->width > used ? terminal->width - used : 1;
	changes_table_put_whole_name(drawing, row, &name);
	if (buffer_failed(&name)) {
		drawing->text->failed = true;
		return;
	}
	buffer_text(drawing->text, "  ");
	(middle ? text_put_middle : text_put_short)(terminal, (const char *)name.data, room,
						    drawing->text);
	buffer_u8(drawing->text, '\n');
}

static void changes_table_put_row(const struct changes_drawing *drawing, const struct change *row)
{
	double change = row->after.cpus - row->before.cpus,
	       part = row->after.part - row->before.part;
	double ranked = changes_of(drawing->changes, row);
	enum terminal_style style = !row->stands_out ? STYLE_BOLD
				    : ranked > 0     ? STYLE_ALERT
						     : STYLE_GOOD;

	changes_table_put_mark(drawing, row->stands_out, ranked);
	changes_table_put_change(drawing, style, change);
	if (has_sides(drawing)) {
		changes_table_put_load(drawing, row->before.cpus, "new");
		changes_table_put_load(drawing, row->after.cpus, "gone");
	}
	if (has_parts(drawing))
		changes_table_put_change(drawing, STYLE_PLAIN, part);
	changes_table_put_name(drawing, row);
}

static void changes_table_put_heading(const struct changes_drawing *drawing)
{
	const struct terminal *terminal = drawing->terminal;
	char line[160];

	snprintf(line, sizeof(line), "   change%s%s  %% of one CPU   %s",
		 has_sides(drawing) ? "  before   after" : "",
		 has_parts(drawing) ? "  of busy" : "", changes_table_titles[drawing->changes->by]);
	buffer_u8(drawing->text, '\n');
	terminal_style(terminal, STYLE_BOLD, drawing->text);
	text_put_short(terminal, line, terminal->width, drawing->text);
	terminal_style(terminal, STYLE_PLAIN, drawing->text);
	buffer_u8(drawing->text, '\n');
}

/* Returns the number of rows that all tables may have together. */
static size_t changes_table_room(const struct changes_screen *screen,
				 const struct terminal *terminal, unsigned int head_lines)
{
	/* a blank line and a heading for each table, and the prompt */
	int other = head_lines + screen->lines_below + 2 * screen->count + 1;

	if (screen->rows || !terminal->height)
		return screen->count * (screen->rows ? screen->rows : ROWS_USUAL);
	return MAX((int)terminal->height - other, (int)screen->count * ROWS_MIN);
}

void changes_table_draw(const struct changes_screen *screen, const struct terminal *terminal,
			struct buffer *text)
{
	unsigned int lines = lines_put(terminal, (struct lines_shape){ .indent = HEAD_INDENT },
				       screen->head, text);
	size_t room = changes_table_room(screen, terminal, lines);

	for (size_t i = 0; i < screen->count; i++) {
		const struct changes *changes = &screen->list[i];
		const struct changes_drawing drawing = { changes, terminal, text };
		size_t share = room / (screen->count - i);
		size_t count = MIN(changes->rows.count, share);

		/* on a terminal, a table gets what the tables before it left */
		room -= screen->rows || !terminal->height ? share : count;
		changes_table_put_heading(&drawing);
		for (size_t row = 0; row < count; row++)
			changes_table_put_row(&drawing, &changes->rows.items[row]);
	}
}
