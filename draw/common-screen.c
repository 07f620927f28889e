// SPDX-License-Identifier: GPL-2.0-only
#include "draw/common-screen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "draw/labelled-lines.h"
#include "draw/lines.h"
#include "query/read/series.h"

/* Functions of a path that are shown, from its end. */
#define PATH_TAIL 3
#define KINDS_SHOWN 3
#define HOSTS_SHOWN 4
/* Commands: for each group, and for incidents of no group. */
#define COMMANDS_EACH 2
#define HOURS 4

/* The forms of the screen. Each is shorter than the one before it. */
enum common_form {
	COMMON_WHOLE,
	/* one command for each group */
	COMMON_COMMAND_EACH,
	/* one row of what the same incidents have */
	COMMON_ONE_ROW_SAME,
	/* only the traits themselves, the first signs, one command, and one row of all other lines
	 */
	COMMON_ONE_ROW,
};

/* Signs in the shortest form. */
#define SIGNS_SHORT 2

struct common_sheet {
	const struct common_screen *screen;
	enum common_form form;
	const struct common_answer *answer;
	struct labelled_lines lines;
};

/* Formats a length of time with one unit, for spans of hours and days. */
static const char *common_length(double seconds, char text[48])
{
	if (seconds >= 2 * 86400)
		snprintf(text, 48, "%.1f days", seconds / 86400);
	else if (seconds >= 2 * 3600)
		snprintf(text, 48, "%.1f h", seconds / 3600);
	else if (seconds >= 120)
		snprintf(text, 48, "%.0f min", seconds / 60);
	else
		snprintf(text, 48, "%.1f s", seconds);
	return text;
}

static const char *common_day(const struct common_sheet *sheet, uint64_t ns,
			      char text[TIME_TEXT_SIZE])
{
	time_format(ns, sheet->screen->utc, 0, text);
	text[10] = 0;
	return text;
}

static void common_put_kinds(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	uint32_t shown[KINDS_SHOWN];
	size_t count = 0;

	for (size_t i = 0; i < answer->cases.count && count < KINDS_SHOWN; i++) {
		uint32_t kind = answer->cases.items[i].kind;
		unsigned int of = 0;
		bool known = false;

		for (size_t j = 0; j < count; j++)
			known = known || shown[j] == kind;
		if (known)
			continue;
		for (size_t j = 0; j < answer->cases.count; j++)
			of += answer->cases.items[j].kind == kind;
		labelled_lines_say(&sheet->lines, "%s%u %s", count ? ", " : ": ", of,
				   common_name(answer, kind));
		shown[count++] = kind;
	}
}

/* Puts the names of the hosts, at most HOSTS_SHOWN. */
static void common_put_hosts(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	size_t shown = MIN(answer->hosts.count, (size_t)HOSTS_SHOWN);

	for (size_t i = 0; i < shown; i++)
		labelled_lines_say(&sheet->lines, "%s%s", i ? ", " : " (",
				   common_name(answer, answer->hosts.items[i]));
	if (answer->hosts.count > shown)
		labelled_lines_say(&sheet->lines, " and %zu more", answer->hosts.count - shown);
	labelled_lines_say(&sheet->lines, shown ? ")" : "");
}

/* Puts how the controls were chosen. */
static void common_put_compared(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	char apart[48], day[48];

	common_length(answer->apart_ns / 1e9, apart);
	if (!answer->compared) {
		labelled_lines_say(
			&sheet->lines,
			"nothing: no incident has samples and a control, %s from any incident",
			apart);
		labelled_lines_end(&sheet->lines, "compared", STYLE_BOLD);
		return;
	}
	labelled_lines_say(
		&sheet->lines,
		"%u incident%s with %u control window%s of the same host%s, at least %s away",
		answer->compared, plural(answer->compared), answer->controls,
		plural(answer->controls), plural(answer->hosts.count), apart);
	labelled_lines_say(
		&sheet->lines,
		" from incidents; medians: %s apart in the time of day, %.1f %% in load; %u rows",
		common_length(answer->time_of_day_ns / 1e9, day), 100 * answer->load_apart,
		answer->rows);
	labelled_lines_end(&sheet->lines, "compared", STYLE_BOLD);
}

static void common_put_head(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	if (answer->older)
		labelled_lines_say(&sheet->lines, "the newest %zu of ", answer->cases.count);
	labelled_lines_say(&sheet->lines, "%zu incident%s on %zu host%s",
			   answer->cases.count + answer->older, plural(answer->cases.count),
			   answer->hosts.count, plural(answer->hosts.count));
	common_put_hosts(sheet);
	labelled_lines_say(&sheet->lines, ", recorded %s to %s",
			   common_day(sheet, answer->from_ns, from),
			   common_day(sheet, answer->to_ns, to));
	common_put_kinds(sheet);
	labelled_lines_end(&sheet->lines, "explain", STYLE_BOLD);
	common_put_compared(sheet);
}

/* Puts the last functions of a path. */
static void common_say_path(struct common_sheet *sheet, const char *path)
{
	const char *from = path + strlen(path);
	unsigned int functions = 0;

	while (from > path && (from[-1] != ';' || ++functions < PATH_TAIL))
		from--;
	if (from > path)
		labelled_lines_say(&sheet->lines, ".. > ");
	while (*from) {
		size_t size = strcspn(from, ";");

		labelled_lines_say(&sheet->lines, "%.*s%s", (int)MIN(size, (size_t)512), from,
				   from[size] ? " > " : "");
		from += size + (from[size] == ';');
	}
}

static void common_say_what(struct common_sheet *sheet, const struct common_row *row)
{
	const char *name = common_name(sheet->answer, row->name);

	switch (row->kind) {
	case COMMON_THREAD_ON_CPU:
		labelled_lines_say(&sheet->lines, "%s on one CPU", name);
		break;
	case COMMON_PATH:
		labelled_lines_say(&sheet->lines, "path ");
		common_say_path(sheet, name);
		break;
	case COMMON_CPU:
		labelled_lines_say(&sheet->lines, "CPU %s", name);
		break;
	case COMMON_MACHINE:
		labelled_lines_say(&sheet->lines, "%s", name);
		break;
	default:
		labelled_lines_say(&sheet->lines, "%s %s", common_kind_name(row->kind), name);
	}
}

static void common_say_figure(struct common_sheet *sheet, const struct common_row *row,
			      double value)
{
	static const char *const units[] = {
		[SERIES_LEVEL] = "",
		[SERIES_SECONDS] = " s",
		[SERIES_PER_SECOND] = " per s",
		[SERIES_COUNT] = " per hour",
		[SERIES_PER_CENT] = " %",
	};

	if (row->kind != COMMON_GAUGE)
		labelled_lines_say(&sheet->lines, "%.2f", value);
	else
		labelled_lines_say(&sheet->lines, "%.*f%s",
				   fabs(value) < 100 && value != floor(value), value,
				   units[row->unit]);
}

static void common_say_values(struct common_sheet *sheet, const struct common_row *row)
{
	labelled_lines_say(&sheet->lines, " ");
	common_say_figure(sheet, row, row->now);
	labelled_lines_say(&sheet->lines, "%s, usually ", row->kind == COMMON_GAUGE ? "" : " CPUs");
	common_say_figure(sheet, row, row->usual);
}

static void common_put_trait(struct common_sheet *sheet, size_t number)
{
	const struct common_answer *answer = sheet->answer;
	const struct common_trait *trait = &answer->traits[number];
	const struct common_row *lead = &trait->lead;
	char label[32];

	labelled_lines_say(&sheet->lines, "%u of %s%u: ", lead->cases, number ? "the other " : "",
			   trait->of_cases);
	common_say_what(sheet, lead);
	common_say_values(sheet, lead);
	labelled_lines_say(&sheet->lines, "; %u of %u controls reach ", lead->controls,
			   trait->of_controls);
	common_say_figure(sheet, lead, lead->level);
	labelled_lines_say(&sheet->lines, "; p = %.3f", lead->p);
	snprintf(label, sizeof(label), "group %zu", number + 1);
	labelled_lines_end(&sheet->lines, answer->trait_count > 1 ? label : "shared", STYLE_ALERT);
	if (!trait->companion_count || sheet->form == COMMON_ONE_ROW)
		return;
	for (size_t i = 0; i < trait->companion_count; i++) {
		const struct common_row *row = &trait->companions[i];

		labelled_lines_say(&sheet->lines, "%s", i ? "; " : "the same: ");
		common_say_what(sheet, row);
		labelled_lines_say(&sheet->lines, " ");
		common_say_figure(sheet, row, row->now);
		if (row->cases != lead->cases || row->controls != lead->controls)
			labelled_lines_say(&sheet->lines, " (%u, controls %u)", row->cases,
					   row->controls);
	}
	sheet->lines.most = sheet->form == COMMON_ONE_ROW_SAME;
	labelled_lines_end(&sheet->lines, "", STYLE_PLAIN);
	sheet->lines.most = 0;
}

static void common_put_traits(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	unsigned int left = answer->compared;

	for (size_t i = 0; i < answer->trait_count; i++) {
		common_put_trait(sheet, i);
		left -= MIN(left, answer->traits[i].lead.cases);
	}
	if (!answer->compared)
		labelled_lines_say(&sheet->lines, "unknown: no incident has samples and a control");
	else if (!answer->trait_count)
		labelled_lines_say(
			&sheet->lines,
			"nothing: no row differs by more than chance explains (p = %.2f)",
			answer->lowest_p);
	else if (left)
		labelled_lines_say(&sheet->lines, "%u other%s nothing that stands out", left,
				   left == 1 ? " shares" : "s share");
	else
		return;
	labelled_lines_end(&sheet->lines, answer->trait_count ? "" : "shared",
			   answer->trait_count ? STYLE_PLAIN : STYLE_GOOD);
}

static void common_say_pattern(struct common_sheet *sheet, enum common_pattern_kind kind)
{
	const struct common_pattern *pattern = &sheet->answer->patterns[kind];
	char low[48], middle[48], high[48];

	if (sheet->lines.line.size)
		labelled_lines_say(&sheet->lines, "; ");
	common_length(pattern->low, low);
	common_length(pattern->middle, middle);
	common_length(pattern->high, high);
	switch (kind) {
	case COMMON_OF_HOST:
		labelled_lines_say(&sheet->lines, "host %s has %u of %u",
				   common_name(sheet->answer, pattern->name), pattern->cases,
				   pattern->of);
		break;
	case COMMON_OF_CPU:
		labelled_lines_say(&sheet->lines, "CPU %" PRIu64 " was full in %u of %u",
				   pattern->number, pattern->cases, pattern->of);
		break;
	case COMMON_OF_QUEUE:
		labelled_lines_say(&sheet->lines, "queue %" PRIu64 " in %u of %u", pattern->number,
				   pattern->cases, pattern->of);
		break;
	case COMMON_OF_HOUR:
		labelled_lines_say(&sheet->lines, "%u of %u between %02u:00 and %02u:00 UTC",
				   pattern->cases, pattern->of, (unsigned int)pattern->number,
				   (unsigned int)(pattern->number + HOURS) % 24);
		break;
	case COMMON_OF_UPTIME:
		labelled_lines_say(&sheet->lines, "half of them at an uptime of %s to %s", low,
				   high);
		break;
	case COMMON_OF_INTERVAL:
		labelled_lines_say(&sheet->lines, "every %s (half of them after %s to %s)", middle,
				   low, high);
		break;
	}
	labelled_lines_say(&sheet->lines, " (p = %.3f)", pattern->p);
}

static void common_put_patterns(struct common_sheet *sheet)
{
	static const char *const words[COMMON_PATTERNS] = { "host",	   "CPU",    "queue",
							    "time of day", "uptime", "interval" };
	const struct common_answer *answer = sheet->answer;
	bool calm = true, first = true;

	for (int kind = 0; kind < COMMON_PATTERNS; kind++)
		if (common_pattern_stands(&answer->patterns[kind])) {
			common_say_pattern(sheet, kind);
			calm = false;
		}
	for (int kind = 0; calm && kind < COMMON_PATTERNS; kind++)
		if (answer->patterns[kind].tested) {
			labelled_lines_say(&sheet->lines, "%s%s",
					   first ? "nothing stands out: " : ", ", words[kind]);
			first = false;
		}
	if (calm && first)
		labelled_lines_say(&sheet->lines, "too few incidents to tell");
	labelled_lines_end(&sheet->lines, "pattern", STYLE_BOLD);
}

static void common_say_gauge_sign(struct common_sheet *sheet, const struct common_sign *sign)
{
	const struct common_row row = { .kind = COMMON_GAUGE, .unit = sign->unit };
	char before[48], least[48], share[SHARE_TEXT_SIZE];

	labelled_lines_say(&sheet->lines, "%s at ", common_name(sheet->answer, sign->gauge));
	common_say_figure(sheet, &row, sign->level);
	labelled_lines_say(
		&sheet->lines, " or %s would have warned %s before the line (median; %s%s)",
		sign->below ? "less" : "more", common_length(sign->before_ns / 1e9, before),
		"the shortest ", common_length(sign->least_ns / 1e9, least));
	labelled_lines_say(&sheet->lines, ", in %u of %u incidents", sign->cases, sign->of_cases);
	if (!isnan(sign->vain))
		labelled_lines_say(&sheet->lines, "; in vain for %s of the time",
				   share_format(sign->vain, share));
	if (sign->at_least)
		labelled_lines_say(&sheet->lines, "; some recordings begin with it");
}

static void common_say_full_sign(struct common_sheet *sheet, const struct common_sign *sign)
{
	char before[48];

	labelled_lines_say(&sheet->lines, "a CPU had been full for %s when the line came (median)",
			   common_length(sign->before_ns / 1e9, before));
	labelled_lines_say(&sheet->lines, ", in %u of %u incidents and %u of %u controls",
			   sign->cases, sign->of_cases, sign->controls, sign->of_controls);
}

static void common_put_signs(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;

	size_t count = sheet->form == COMMON_ONE_ROW ? MIN(answer->sign_count, (size_t)SIGNS_SHORT)
						     : answer->sign_count;

	for (size_t i = 0; i < count; i++) {
		const struct common_sign *sign = &answer->signs[i];

		if (sign->gauge)
			common_say_gauge_sign(sheet, sign);
		else
			common_say_full_sign(sheet, sign);
		labelled_lines_end(&sheet->lines, i ? "" : "sign", STYLE_BOLD);
	}
	if (answer->sign_count)
		return;
	labelled_lines_say(&sheet->lines, "nothing that changed before the incidents stands out");
	labelled_lines_end(&sheet->lines, "sign", STYLE_BOLD);
}

static void common_put_unknown(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	unsigned int alone = answer->cases.count - answer->unread - answer->late - answer->compared;

	if (answer->unread)
		labelled_lines_say(&sheet->lines, "%u incident%s no samples", answer->unread,
				   answer->unread == 1 ? " has" : "s have");
	if (alone)
		labelled_lines_say(&sheet->lines, "%s%u incident%s no control window",
				   sheet->lines.line.size ? "; " : "", alone,
				   alone == 1 ? " has" : "s have");
	if (answer->damaged)
		labelled_lines_say(&sheet->lines,
				   "%s%u damaged segment%s (perftape verify names the damage)",
				   sheet->lines.line.size ? "; " : "", answer->damaged,
				   plural(answer->damaged));
	if (answer->late)
		labelled_lines_say(&sheet->lines, "%s%u incident%s not read, to answer in time",
				   sheet->lines.line.size ? "; " : "", answer->late,
				   answer->late == 1 ? " was" : "s were");
	else if (answer->limited)
		labelled_lines_say(&sheet->lines,
				   "%ssome controls were not read, to answer in time",
				   sheet->lines.line.size ? "; " : "");
	if (sheet->lines.line.size)
		labelled_lines_end(&sheet->lines, "unknown", STYLE_BOLD);
}

/* Puts the commands that explain single incidents of a trait; of 0, those of none. */
static unsigned int common_put_group(struct common_sheet *sheet, size_t trait)
{
	const struct lines_shape shape = { .used = LABELLED_LINES_INDENT,
					   .indent = LABELLED_LINES_INDENT };
	const struct common_answer *answer = sheet->answer;
	char command[4200], label[LABELLED_LINES_INDENT + 1] = "look";
	unsigned int shown = 0;

	if (trait && answer->trait_count > 1)
		snprintf(label, sizeof(label), "look %zu", trait % 10);
	for (size_t i = 0;
	     i < answer->cases.count && shown < (sheet->form == COMMON_WHOLE ? COMMANDS_EACH : 1);
	     i++) {
		const struct common_case *of = &answer->cases.items[i];

		if (of->trait != trait || !of->read)
			continue;
		common_command(of, sheet->screen->stores, command, sizeof(command));
		terminal_style(sheet->lines.terminal, STYLE_BOLD, sheet->lines.to);
		buffer_printf(sheet->lines.to, "%-*s", LABELLED_LINES_INDENT, shown++ ? "" : label);
		terminal_style(sheet->lines.terminal, STYLE_PLAIN, sheet->lines.to);
		lines_put_command(sheet->lines.terminal, shape, command, sheet->lines.to);
	}
	return shown;
}

static void common_put_commands(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	unsigned int shown = 0;

	for (size_t trait = 1; trait <= answer->trait_count; trait++)
		if (!shown || sheet->form < COMMON_ONE_ROW)
			shown += common_put_group(sheet, trait);
	if (!shown || sheet->form < COMMON_ONE_ROW)
		shown += common_put_group(sheet, 0);
	if (answer->cases.count <= shown)
		return;
	labelled_lines_say(&sheet->lines, "%zu more: --json lists all incidents",
			   answer->cases.count - shown);
	labelled_lines_end(&sheet->lines, "", STYLE_PLAIN);
}

static void common_screen_draw_as(const struct common_screen *screen, enum common_form form,
				  struct labelled_lines *lines)
{
	struct common_sheet sheet = {
		.screen = screen,
		.form = form,
		.answer = screen->answer,
		.lines = { .terminal = lines->terminal, .to = lines->to },
	};
	unsigned int most = form >= COMMON_ONE_ROW;

	sheet.lines.most = most;
	common_put_head(&sheet);
	sheet.lines.most = 0;
	common_put_traits(&sheet);
	sheet.lines.most = 2 * most;
	common_put_signs(&sheet);
	sheet.lines.most = most;
	common_put_patterns(&sheet);
	common_put_unknown(&sheet);
	common_put_commands(&sheet);
	if (form)
		labelled_lines_say_short(&sheet.lines);
	labelled_lines_done(&sheet.lines);
}

void common_screen_draw(const struct common_screen *screen, const struct terminal *terminal,
			struct buffer *text)
{
	struct labelled_lines lines = { .terminal = terminal, .to = text };
	size_t begin = text->size;

	for (int form = COMMON_WHOLE; form <= COMMON_ONE_ROW; form++) {
		text->size = begin;
		common_screen_draw_as(screen, form, &lines);
		if (!labelled_lines_is_tall(&lines, begin, 0))
			return;
	}
}
