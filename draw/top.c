// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers come first, so that they stay in columns whatever the length of the names. A mark in
 * front of a row shows that the row stands out.
 */
#include "draw/top.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "draw/lines.h"
#include "draw/text.h"

#define SECTIONS_MAX 3
#define ROWS_MIN 1
/* The number of rows of a section without a terminal. */
#define ROWS_USUAL 20
#define BAR_WIDTH 10
#define SHARE_WIDTH 7
/* A narrower terminal does not show the parts of the load. */
#define WIDTH_FULL 72
#define WIDTH_NARROW 40
/* A narrower terminal shows names instead of bars. */
#define WIDTH_BARS 92
/* A narrower terminal does not show the usual values. */
#define WIDTH_USUAL 32

struct drawing {
	const struct ranking *ranking;
	const struct terminal *terminal;
	struct buffer *text;
};

static bool top_is_full(const struct drawing *drawing)
{
	return drawing->terminal->width >= WIDTH_FULL;
}

struct section {
	const char *title;
	bool functions;
	void (*put)(const struct drawing *drawing, size_t row);
	/* The number of rows with a value. */
	size_t count;
	size_t shown;
};

static bool has_bars(const struct drawing *drawing)
{
	return drawing->terminal->width >= WIDTH_BARS;
}

/* Returns the columns of the line that are left for names. */
static unsigned int top_room_left(const struct drawing *drawing, unsigned int used)
{
	if (!drawing->terminal->wrap)
		return UINT32_MAX;
	return drawing->terminal->width > used ? drawing->terminal->width - used : 1;
}

static void top_put_share(const struct drawing *drawing, double share)
{
	char shown[SHARE_TEXT_SIZE];

	buffer_printf(drawing->text, " %6s", share_cell(share, shown));
}

/* Puts the usual share if it fits. Returns the number of columns used. */
static unsigned int put_usual(const struct drawing *drawing, bool compared, double share)
{
	if (drawing->terminal->width < WIDTH_USUAL)
		return 0;
	terminal_style(drawing->terminal, STYLE_DIM, drawing->text);
	if (compared)
		top_put_share(drawing, share);
	else
		buffer_text(drawing->text, "      -");
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
	return SHARE_WIDTH;
}

static void top_put_mark(const struct drawing *drawing, bool stands_out)
{
	if (stands_out) {
		terminal_style(drawing->terminal, STYLE_ALERT, drawing->text);
		buffer_text(drawing->text, drawing->terminal->unicode ? "\u25b2" : "!");
		terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
	} else {
		buffer_u8(drawing->text, ' ');
	}
}

static void put_styled_share(const struct drawing *drawing, enum terminal_style style, double share)
{
	bool plain = share < 0.0005;

	terminal_style(drawing->terminal, plain ? STYLE_DIM : style, drawing->text);
	top_put_share(drawing, share);
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

/* Puts a bar of user, kernel and interrupt time. Its full length is one CPU. */
static void put_bar(const struct drawing *drawing, const struct ranking_share *share)
{
	static const enum terminal_style styles[] = { STYLE_USER, STYLE_KERNEL, STYLE_IRQ };
	static const char letters[] = "ukI";
	const double ends[] = { share->user, share->user + share->kernel, share->all };
	int at = 0;

	buffer_text(drawing->text, "  ");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int end = MIN((int)lround(ends[i] * BAR_WIDTH), BAR_WIDTH);

		terminal_style(drawing->terminal, styles[i], drawing->text);
		for (; at < end; at++)
			if (drawing->terminal->color && drawing->terminal->unicode)
				buffer_text(drawing->text, "\u2588");
			else
				buffer_u8(drawing->text, letters[i]);
	}
	terminal_style(drawing->terminal, STYLE_DIM, drawing->text);
	for (; at < BAR_WIDTH; at++)
		buffer_text(drawing->text, drawing->terminal->unicode ? "\u00b7" : ".");
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
}

/* Puts the busy share, its parts and the usual share. Returns the number of columns used. */
static unsigned int top_put_shares(const struct drawing *drawing, bool stands_out, bool compared,
				   const struct ranking_share *now,
				   const struct ranking_share *usual)
{
	unsigned int used = 1 + SHARE_WIDTH;

	top_put_mark(drawing, stands_out);
	put_styled_share(drawing, stands_out ? STYLE_ALERT : STYLE_BOLD, now->all);
	used += put_usual(drawing, compared, usual->all);
	if (!top_is_full(drawing))
		return used;
	if (has_bars(drawing)) {
		put_bar(drawing, now);
		used += 2 + BAR_WIDTH;
	}
	put_styled_share(drawing, STYLE_USER, now->user);
	put_styled_share(drawing, STYLE_KERNEL, now->kernel);
	put_styled_share(drawing, STYLE_IRQ, now->irq);
	return used + 3 * SHARE_WIDTH;
}

static void top_put_name(const struct drawing *drawing, const char *name, unsigned int used)
{
	buffer_text(drawing->text, "  ");
	text_put_short(drawing->terminal, name, top_room_left(drawing, used + 2), drawing->text);
	buffer_u8(drawing->text, '\n');
}

/* Puts the names of the columns; a narrow terminal has fewer columns. */
static void put_heading(const struct drawing *drawing, const struct section *section)
{
	unsigned int width = drawing->terminal->width;
	char line[160];

	snprintf(line, sizeof(line), "    %s%s%s%*s%s  %s", section->functions ? "self" : "busy",
		 width < WIDTH_USUAL ? "" : "  usual",
		 section->functions && width >= WIDTH_NARROW ? "  total  usual" : "",
		 has_bars(drawing) && !section->functions ? 2 + BAR_WIDTH : 0, "",
		 !top_is_full(drawing) ? ""
		 : section->functions  ? "        "
				       : "   user kernel    irq",
		 section->title);
	buffer_u8(drawing->text, '\n');
	terminal_style(drawing->terminal, STYLE_BOLD, drawing->text);
	text_put_short(drawing->terminal, line, width, drawing->text);
	terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
	buffer_u8(drawing->text, '\n');
}

static void top_put_core(const struct drawing *drawing, size_t row)
{
	const struct ranking_core *core = &drawing->ranking->cores.items[row];
	unsigned int used =
		top_put_shares(drawing, core->stands_out, drawing->ranking->cpus_compared,
			       &core->now, &core->usual);
	char name[600];

	snprintf(name, sizeof(name), "CPU %-3u %.64s%s%.500s", core->cpu,
		 core->group ? core->group : "idle", core->function ? ": " : "",
		 core->function ? core->function : "");
	top_put_name(drawing, name, used);
}

/*
 * Puts a call path from the leaf to its callers, so that a long line loses its outermost callers.
 */
static void top_put_path(const char *path, struct buffer *text)
{
	const char *end = path + strlen(path);

	while (end > path) {
		const char *begin = end;

		while (begin > path && begin[-1] != ';')
			begin--;
		buffer_bytes(text, begin, end - begin);
		buffer_text(text, begin > path ? " < " : "");
		end = MAX(begin - 1, path);
	}
}

/* Puts the text behind a group's name: its IDs, or its busiest thread. */
static void put_group_remark(const struct ranking_group *group, struct buffer *text)
{
	char share[SHARE_TEXT_SIZE];

	if (group->threads == 1)
		buffer_printf(text, " %d/%d on CPU %u", group->pid, group->tid, group->cpu);
	else
		buffer_printf(text, ", %llu threads; busiest %d on CPU %u, %s",
			      (unsigned long long)group->threads, group->tid, group->cpu,
			      share_format(group->thread_share, share));
}

/* Puts the whole name of a group, NUL-terminated. */
static void put_group_name(const struct drawing *drawing, const struct ranking_group *group,
			   struct buffer *text)
{
	enum tally_by by = drawing->ranking->by;

	if (by == TALLY_BY_PATH)
		top_put_path(group->name, text);
	else
		buffer_text(text, group->name);
	if (by == TALLY_BY_THREAD)
		buffer_printf(text, " on CPU %u", group->cpu);
	else if (by == TALLY_BY_NAME)
		put_group_remark(group, text);
	else if (by != TALLY_BY_PATH)
		buffer_printf(text, ", %llu thread%s", (unsigned long long)group->threads,
			      plural(group->threads));
	buffer_u8(text, 0);
}

static void top_put_group(const struct drawing *drawing, size_t row)
{
	const struct ranking_group *group = &drawing->ranking->groups.items[row];
	unsigned int used = top_put_shares(drawing, group->stands_out, drawing->ranking->compared,
					   &group->now, &group->usual);
	_cleanup_(buffer_done) struct buffer name = { 0 };
	/* the ends of cgroups differ, and the number of threads stands there */
	bool middle = drawing->ranking->by == TALLY_BY_CGROUP;

	put_group_name(drawing, group, &name);
	if (buffer_failed(&name)) {
		drawing->text->failed = true;
		return;
	}
	buffer_text(drawing->text, "  ");
	(middle ? text_put_middle : text_put_short)(drawing->terminal, (const char *)name.data,
						    top_room_left(drawing, used + 2),
						    drawing->text);
	buffer_u8(drawing->text, '\n');
}

static void top_put_function(const struct drawing *drawing, size_t row)
{
	const struct ranking_function *function = &drawing->ranking->functions.items[row];
	bool compared = drawing->ranking->compared;
	unsigned int used = 1 + SHARE_WIDTH;

	top_put_mark(drawing, function->stands_out);
	put_styled_share(drawing, function->stands_out ? STYLE_ALERT : STYLE_BOLD, function->self);
	used += put_usual(drawing, compared, function->usual_self);
	if (drawing->terminal->width >= WIDTH_NARROW) {
		top_put_share(drawing, function->total);
		used += SHARE_WIDTH + put_usual(drawing, compared, function->usual_total);
	}
	if (top_is_full(drawing)) {
		terminal_style(drawing->terminal, function->kernel ? STYLE_KERNEL : STYLE_USER,
			       drawing->text);
		buffer_text(drawing->text, function->kernel ? "  kernel" : "  user  ");
		terminal_style(drawing->terminal, STYLE_PLAIN, drawing->text);
		used += 8;
	}
	top_put_name(drawing, function->name, used);
}

#define count_rows(rows, share)                                                   \
	({                                                                        \
		size_t _count = 0;                                                \
		while (_count < (rows)->count && (rows)->items[_count].share > 0) \
			_count++;                                                 \
		_count;                                                           \
	})

struct sections {
	struct section list[SECTIONS_MAX];
	size_t count;
};

/* Gives each section at most `rows` rows. */
static void plan_rows(size_t rows, struct sections *sections)
{
	for (size_t i = 0; i < sections->count; i++)
		sections->list[i].shown = MIN(sections->list[i].count, rows);
}

static void top_plan(const struct drawing *drawing, unsigned int other_lines,
		     struct sections *sections)
{
	size_t count = sections->count;
	/* subtract a blank line and a heading for each section, and the prompt */
	int left = (int)drawing->terminal->height - (int)other_lines - 2 * (int)count - 1;
	size_t room = MAX(left, (int)count * ROWS_MIN), share = room / count;

	for (size_t i = 0; i < count; i++) {
		sections->list[i].shown = MIN(sections->list[i].count, share);
		room -= sections->list[i].shown;
	}
	/*
	 * give unused room to other sections, the last one first: functions are the most numerous
	 */
	for (size_t i = count; i-- > 0;) {
		struct section *section = &sections->list[i];
		size_t more = MIN(section->count - section->shown, room);

		section->shown += more;
		room -= more;
	}
}

static void add_section(struct sections *sections, const char *title, bool functions,
			void (*put)(const struct drawing *drawing, size_t row), size_t count)
{
	sections->list[sections->count++] = (struct section){ title, functions, put, count, 0 };
}

static void choose_sections(const struct ranking *ranking, struct sections *sections)
{
	static const char *const titles[] = {
		[TALLY_BY_NAME] = "% of one CPU   threads of one name",
		[TALLY_BY_FUNCTION] = "",
		[TALLY_BY_THREAD] = "% of one CPU   thread",
		[TALLY_BY_CGROUP] = "% of one CPU   cgroup",
		[TALLY_BY_POD] = "% of one CPU   pod",
		[TALLY_BY_PATH] = "% of one CPU   function < its callers",
	};

	if (ranking->by == TALLY_BY_NAME)
		add_section(sections, "% of the CPU  busiest thread: its function", false,
			    top_put_core, count_rows(&ranking->cores, now.all));
	if (ranking->by != TALLY_BY_FUNCTION)
		add_section(sections, titles[ranking->by], false, top_put_group,
			    count_rows(&ranking->groups, now.all));
	if (tally_by_has_sums(ranking->by))
		add_section(sections, "% of one CPU   function", true, top_put_function,
			    count_rows(&ranking->functions, total));
}

static unsigned int top_put_lines(const struct terminal *terminal, const char *lines,
				  struct buffer *text)
{
	return lines_put(terminal, (struct lines_shape){ .indent = HEAD_INDENT }, lines, text);
}

void top_draw(const struct top_screen *screen, const struct terminal *terminal, struct buffer *text)
{
	const struct drawing drawing = { screen->ranking, terminal, text };
	struct sections sections = { .count = 0 };
	unsigned int lines;

	terminal_style(terminal, STYLE_BOLD, text);
	lines = top_put_lines(terminal, screen->first, text);
	terminal_style(terminal, STYLE_PLAIN, text);
	lines += top_put_lines(terminal, screen->head, text);
	choose_sections(screen->ranking, &sections);
	if (screen->rows || !terminal->height)
		plan_rows(screen->rows ? screen->rows : ROWS_USUAL, &sections);
	else
		top_plan(&drawing, lines + screen->lines_below, &sections);
	for (size_t i = 0; i < sections.count; i++) {
		put_heading(&drawing, &sections.list[i]);
		for (size_t row = 0; row < sections.list[i].shown; row++)
			sections.list[i].put(&drawing, row);
	}
}
