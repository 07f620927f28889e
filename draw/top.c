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
/* "  kernel" */
#define MODE_WIDTH 8
/* A narrower terminal does not show the parts of the load. */
#define WIDTH_FULL 72
#define WIDTH_NARROW 40
/* A narrower terminal shows names instead of bars. */
#define WIDTH_BARS 92
/* A narrower terminal does not show the usual values. */
#define WIDTH_USUAL 32
/* A function that does not fit keeps this many columns. */
#define FUNCTION_LEAST 10
/* The fields behind a name, and the size of one. */
#define FIELDS_MAX 4
#define FIELD_SIZE 40

/* The columns that leave for long names, each of them only if the ones before it have left. */
enum leaving {
	LEAVING_NONE,
	LEAVING_BARS,
	/* The parts of the load, or the mode of functions. */
	LEAVING_PARTS,
};

struct drawing {
	const struct ranking *ranking;
	const struct terminal *terminal;
	struct buffer *text;
	enum leaving leaving;
	/* The number of digits of the largest CPU. */
	int cpu_digits;
};

struct section {
	const char *title;
	bool functions;
	void (*put)(const struct drawing *drawing, size_t row);
	/* Puts the name of a row that must stay whole. */
	void (*put_name)(const struct drawing *drawing, size_t row, struct buffer *name);
	/* The number of rows with a value. */
	size_t count;
	size_t shown;
};

static bool top_is_full(const struct drawing *drawing)
{
	return drawing->terminal->width >= WIDTH_FULL && drawing->leaving < LEAVING_PARTS;
}

static bool has_bars(const struct drawing *drawing)
{
	return drawing->terminal->width >= WIDTH_BARS && drawing->leaving < LEAVING_BARS;
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

/* Puts the CPU and its thread, as "CPU 5 kubelet: ", which the function follows. */
static void top_name_thread(const struct drawing *drawing, const struct ranking_core *core,
			    struct buffer *name)
{
	buffer_printf(name, "CPU %-*u ", drawing->cpu_digits, core->cpu);
	buffer_text(name, core->group ? core->group : "idle");
	buffer_text(name, core->function ? ": " : "");
}

static void top_name_core(const struct drawing *drawing, size_t row, struct buffer *name)
{
	const struct ranking_core *core = &drawing->ranking->cores.items[row];

	top_name_thread(drawing, core, name);
	buffer_text(name, core->function ? core->function : "");
}

static void top_put_core(const struct drawing *drawing, size_t row)
{
	const struct terminal *terminal = drawing->terminal;
	const struct ranking_core *core = &drawing->ranking->cores.items[row];
	unsigned int used =
		2 + top_put_shares(drawing, core->stands_out, drawing->ranking->cpus_compared,
				   &core->now, &core->usual);
	unsigned int room = top_room_left(drawing, used), width;
	_cleanup_(buffer_done) struct buffer thread = { 0 }, name = { 0 };

	top_name_thread(drawing, core, &thread);
	buffer_u8(&thread, 0);
	top_name_core(drawing, row, &name);
	buffer_u8(&name, 0);
	if (buffer_failed(&thread) || buffer_failed(&name)) {
		drawing->text->failed = true;
		return;
	}
	buffer_text(drawing->text, "  ");
	width = text_width(terminal, (const char *)thread.data);
	if (core->function && width + FUNCTION_LEAST <= room) {
		text_put_short(terminal, (const char *)thread.data, room, drawing->text);
		text_put_middle(terminal, core->function, room - width, drawing->text);
	} else {
		text_put_short(terminal, (const char *)name.data, room, drawing->text);
	}
	buffer_u8(drawing->text, '\n');
}

static void top_name_group(const struct drawing *drawing, size_t row, struct buffer *name)
{
	const struct ranking_group *group = &drawing->ranking->groups.items[row];

	if (drawing->ranking->by == TALLY_BY_PATH)
		text_put_path(group->name, name);
	else
		buffer_text(name, group->name);
}

struct fields {
	char texts[FIELDS_MAX][FIELD_SIZE];
	size_t count;
};

#define add_field(fields, ...) snprintf((fields)->texts[(fields)->count++], FIELD_SIZE, __VA_ARGS__)

/* Makes the fields behind a group's name: its IDs, or its busiest thread. */
static void top_make_fields(const struct drawing *drawing, const struct ranking_group *group,
			    struct fields *ret_fields)
{
	enum tally_by by = drawing->ranking->by;
	char share[SHARE_TEXT_SIZE];

	ret_fields->count = 0;
	if (by == TALLY_BY_PATH)
		return;
	if (by == TALLY_BY_NAME && group->threads == 1)
		add_field(ret_fields, " %d/%d", group->pid, group->tid);
	else if (by != TALLY_BY_THREAD)
		add_field(ret_fields, ", %llu thread%s", (unsigned long long)group->threads,
			  plural(group->threads));
	if (by == TALLY_BY_NAME && group->threads != 1)
		add_field(ret_fields, "; busiest %d", group->tid);
	if (by == TALLY_BY_NAME || by == TALLY_BY_THREAD)
		add_field(ret_fields, " on CPU %u", group->cpu);
	if (by == TALLY_BY_NAME && group->threads != 1)
		add_field(ret_fields, ", %s", share_format(group->thread_share, share));
}

static void top_put_group(const struct drawing *drawing, size_t row)
{
	const struct ranking_group *group = &drawing->ranking->groups.items[row];
	unsigned int used =
		2 + top_put_shares(drawing, group->stands_out, drawing->ranking->compared,
				   &group->now, &group->usual);
	unsigned int room = top_room_left(drawing, used), count = 0;
	_cleanup_(buffer_done) struct buffer name = { 0 };
	struct fields fields;

	top_name_group(drawing, row, &name);
	top_make_fields(drawing, group, &fields);
	buffer_u8(&name, 0);
	if (buffer_failed(&name)) {
		drawing->text->failed = true;
		return;
	}
	buffer_text(drawing->text, "  ");
	/* a cgroup keeps the number of its threads */
	if (drawing->ranking->by == TALLY_BY_CGROUP && strlen(fields.texts[0]) < room)
		count = text_put_middle(drawing->terminal, (const char *)name.data,
					room - strlen(fields.texts[0]), drawing->text);
	else
		count = text_put_short(drawing->terminal, (const char *)name.data, room,
				       drawing->text);
	for (size_t i = 0; i < fields.count && strlen(fields.texts[i]) <= room - count; i++) {
		buffer_text(drawing->text, fields.texts[i]);
		count += strlen(fields.texts[i]);
	}
	buffer_u8(drawing->text, '\n');
}

static void top_name_function(const struct drawing *drawing, size_t row, struct buffer *name)
{
	buffer_text(name, drawing->ranking->functions.items[row].name);
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
		used += MODE_WIDTH;
	}
	buffer_text(drawing->text, "  ");
	text_put_middle(drawing->terminal, function->name, top_room_left(drawing, used + 2),
			drawing->text);
	buffer_u8(drawing->text, '\n');
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
		sections->list[sections->count++] = (struct section){
			"% of the CPU  busiest thread: its function",
			.put = top_put_core,
			.put_name = top_name_core,
			.count = count_rows(&ranking->cores, now.all),
		};
	if (ranking->by != TALLY_BY_FUNCTION)
		sections->list[sections->count++] = (struct section){
			titles[ranking->by],
			.put = top_put_group,
			.put_name = top_name_group,
			.count = count_rows(&ranking->groups, now.all),
		};
	if (tally_by_has_sums(ranking->by))
		sections->list[sections->count++] = (struct section){
			"% of one CPU   function",
			.functions = true,
			.put = top_put_function,
			.put_name = top_name_function,
			.count = count_rows(&ranking->functions, total),
		};
}

/* Returns the width of the widest name that the section shows. */
static unsigned int top_widest(const struct drawing *drawing, const struct section *section)
{
	unsigned int widest = 0;

	for (size_t row = 0; row < section->shown; row++) {
		_cleanup_(buffer_done) struct buffer name = { 0 };

		section->put_name(drawing, row, &name);
		buffer_u8(&name, 0);
		if (buffer_failed(&name))
			drawing->text->failed = true;
		else
			widest =
				MAX(widest, text_width(drawing->terminal, (const char *)name.data));
	}
	return widest;
}

/* Returns the columns of a row in front of its name. */
static unsigned int top_columns(const struct drawing *drawing, const struct section *section)
{
	unsigned int width = drawing->terminal->width;
	unsigned int used = 1 + SHARE_WIDTH + 2 + (width < WIDTH_USUAL ? 0 : SHARE_WIDTH);

	if (section->functions)
		return used + (width < WIDTH_NARROW ? 0 : 2 * SHARE_WIDTH) +
		       (top_is_full(drawing) ? MODE_WIDTH : 0);
	return used + (has_bars(drawing) ? 2 + BAR_WIDTH : 0) +
	       (top_is_full(drawing) ? 3 * SHARE_WIDTH : 0);
}

/* Columns leave if all names of the section fit then; otherwise all columns stay. */
static void top_choose_columns(const struct section *section, struct drawing *drawing)
{
	unsigned int widest = top_widest(drawing, section);

	for (int i = LEAVING_NONE; drawing->terminal->wrap && i <= LEAVING_PARTS; i++) {
		drawing->leaving = i;
		if (top_columns(drawing, section) + widest <= drawing->terminal->width)
			return;
	}
	drawing->leaving = LEAVING_NONE;
}

/* Returns the number of digits of the largest CPU. */
static int top_cpu_digits(const struct ranking *ranking)
{
	uint32_t most = 0;

	for (size_t i = 0; i < ranking->cores.count; i++)
		most = MAX(most, ranking->cores.items[i].cpu);
	return snprintf(NULL, 0, "%u", most);
}

static unsigned int top_put_lines(const struct terminal *terminal, const char *lines,
				  struct buffer *text)
{
	return lines_put(terminal, (struct lines_shape){ .indent = HEAD_INDENT }, lines, text);
}

void top_draw(const struct top_screen *screen, const struct terminal *terminal, struct buffer *text)
{
	struct drawing drawing = { screen->ranking, terminal, text, LEAVING_NONE,
				   top_cpu_digits(screen->ranking) };
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
		if (!screen->live)
			top_choose_columns(&sections.list[i], &drawing);
		put_heading(&drawing, &sections.list[i]);
		for (size_t row = 0; row < sections.list[i].shown; row++)
			sections.list[i].put(&drawing, row);
	}
}
