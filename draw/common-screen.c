// SPDX-License-Identifier: GPL-2.0-only
#include "draw/common-screen.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "draw/lines.h"
#include "query/read/series.h"

#define LABEL 9
/* Functions of a path that are shown, from its end. */
#define PATH_TAIL 3
#define KINDS_SHOWN 3
/* Commands: for each group, and for incidents of no group. */
#define COMMANDS_EACH 2
#define HOURS 4

struct common_sheet {
	const struct common_screen *screen;
	const struct common_answer *answer;
	const struct terminal *terminal;
	struct buffer *to;
	/* the text of the line under construction */
	struct buffer line;
};

static void common_say(struct common_sheet *sheet, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void common_say(struct common_sheet *sheet, const char *format, ...)
{
	char text[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	buffer_text(&sheet->line, text);
}

/* Puts the line behind a label, and empties it. */
static void common_end(struct common_sheet *sheet, const char *label, enum terminal_style style)
{
	const struct lines_shape shape = { .used = LABEL, .indent = LABEL, .prose = true };

	buffer_u8(&sheet->line, 0);
	if (buffer_failed(&sheet->line)) {
		sheet->to->failed = true;
		return;
	}
	terminal_style(sheet->terminal, style, sheet->to);
	buffer_printf(sheet->to, "%-*s", LABEL, label);
	terminal_style(sheet->terminal, STYLE_PLAIN, sheet->to);
	lines_put(sheet->terminal, shape, (const char *)sheet->line.data, sheet->to);
	sheet->line.size = 0;
}

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
		common_say(sheet, "%s%u %s", count ? ", " : ": ", of, common_name(answer, kind));
		shown[count++] = kind;
	}
}

static void common_put_head(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], apart[48], day[48];

	common_say(sheet, "%zu incident%s on %zu host%s, recorded %s to %s", answer->cases.count,
		   plural(answer->cases.count), answer->hosts, plural(answer->hosts),
		   common_day(sheet, answer->from_ns, from), common_day(sheet, answer->to_ns, to));
	common_put_kinds(sheet);
	common_end(sheet, "explain", STYLE_BOLD);
	common_say(sheet,
		   "%u incident%s with %u control window%s of the same host%s, at least %s away",
		   answer->compared, plural(answer->compared), answer->controls,
		   plural(answer->controls), plural(answer->hosts),
		   common_length(answer->apart_ns / 1e9, apart));
	common_say(
		sheet,
		" from incidents; medians: %s apart in the time of day, %.1f %% in load; %u rows",
		common_length(answer->time_of_day_ns / 1e9, day), 100 * answer->load_apart,
		answer->rows);
	common_end(sheet, "compared", STYLE_BOLD);
}

/* Puts the last functions of a path. */
static void common_say_path(struct common_sheet *sheet, const char *path)
{
	const char *from = path + strlen(path);
	unsigned int functions = 0;

	while (from > path && (from[-1] != ';' || ++functions < PATH_TAIL))
		from--;
	if (from > path)
		common_say(sheet, ".. > ");
	while (*from) {
		size_t size = strcspn(from, ";");

		common_say(sheet, "%.*s%s", (int)MIN(size, (size_t)512), from,
			   from[size] ? " > " : "");
		from += size + (from[size] == ';');
	}
}

static void common_say_what(struct common_sheet *sheet, const struct common_row *row)
{
	const char *name = common_name(sheet->answer, row->name);

	switch (row->kind) {
	case COMMON_THREAD_ON_CPU:
		common_say(sheet, "%s on one CPU", name);
		break;
	case COMMON_PATH:
		common_say(sheet, "path ");
		common_say_path(sheet, name);
		break;
	case COMMON_CPU:
		common_say(sheet, "CPU %s", name);
		break;
	case COMMON_MACHINE:
		common_say(sheet, "%s", name);
		break;
	default:
		common_say(sheet, "%s %s", common_kind_name(row->kind), name);
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
		common_say(sheet, "%.2f", value);
	else
		common_say(sheet, "%.*f%s", fabs(value) < 100 && value != floor(value), value,
			   units[row->unit]);
}

static void common_say_values(struct common_sheet *sheet, const struct common_row *row)
{
	common_say(sheet, " ");
	common_say_figure(sheet, row, row->now);
	common_say(sheet, "%s, usually ", row->kind == COMMON_GAUGE ? "" : " CPUs");
	common_say_figure(sheet, row, row->usual);
}

static void common_put_trait(struct common_sheet *sheet, size_t number)
{
	const struct common_answer *answer = sheet->answer;
	const struct common_trait *trait = &answer->traits[number];
	const struct common_row *lead = &trait->lead;
	char label[32];

	common_say(sheet, "%u of %s%u: ", lead->cases, number ? "the other " : "", trait->of_cases);
	common_say_what(sheet, lead);
	common_say_values(sheet, lead);
	common_say(sheet, "; %u of %u controls reach ", lead->controls, trait->of_controls);
	common_say_figure(sheet, lead, lead->level);
	common_say(sheet, "; p = %.3f", lead->p);
	snprintf(label, sizeof(label), "group %zu", number + 1);
	common_end(sheet, answer->trait_count > 1 ? label : "shared", STYLE_ALERT);
	for (size_t i = 0; i < trait->companion_count; i++) {
		const struct common_row *row = &trait->companions[i];

		common_say(sheet, "%s", i ? "; " : "the same: ");
		common_say_what(sheet, row);
		common_say(sheet, " ");
		common_say_figure(sheet, row, row->now);
		if (row->cases != lead->cases || row->controls != lead->controls)
			common_say(sheet, " (%u, controls %u)", row->cases, row->controls);
	}
	if (trait->companion_count)
		common_end(sheet, "", STYLE_PLAIN);
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
		common_say(sheet, "unknown: no incident has samples and a control");
	else if (!answer->trait_count)
		common_say(sheet, "nothing: no row differs by more than chance explains (p = %.2f)",
			   answer->lowest_p);
	else if (left)
		common_say(sheet, "%u other%s nothing that stands out", left,
			   left == 1 ? " shares" : "s share");
	else
		return;
	common_end(sheet, answer->trait_count ? "" : "shared",
		   answer->trait_count ? STYLE_PLAIN : STYLE_GOOD);
}

static void common_say_pattern(struct common_sheet *sheet, enum common_pattern_kind kind)
{
	const struct common_pattern *pattern = &sheet->answer->patterns[kind];
	char low[48], middle[48], high[48];

	if (sheet->line.size)
		common_say(sheet, "; ");
	common_length(pattern->low, low);
	common_length(pattern->middle, middle);
	common_length(pattern->high, high);
	switch (kind) {
	case COMMON_OF_HOST:
		common_say(sheet, "host %s has %u of %u", common_name(sheet->answer, pattern->name),
			   pattern->cases, pattern->of);
		break;
	case COMMON_OF_CPU:
		common_say(sheet, "CPU %" PRIu64 " was full in %u of %u", pattern->number,
			   pattern->cases, pattern->of);
		break;
	case COMMON_OF_QUEUE:
		common_say(sheet, "queue %" PRIu64 " in %u of %u", pattern->number, pattern->cases,
			   pattern->of);
		break;
	case COMMON_OF_HOUR:
		common_say(sheet, "%u of %u between %02u:00 and %02u:00 UTC", pattern->cases,
			   pattern->of, (unsigned int)pattern->number,
			   (unsigned int)(pattern->number + HOURS) % 24);
		break;
	case COMMON_OF_UPTIME:
		common_say(sheet, "half of them at an uptime of %s to %s", low, high);
		break;
	case COMMON_OF_INTERVAL:
		common_say(sheet, "every %s (half of them after %s to %s)", middle, low, high);
		break;
	}
	common_say(sheet, " (p = %.3f)", pattern->p);
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
			common_say(sheet, "%s%s", first ? "nothing stands out: " : ", ",
				   words[kind]);
			first = false;
		}
	if (calm && first)
		common_say(sheet, "too few incidents to tell");
	common_end(sheet, "pattern", STYLE_BOLD);
}

static void common_say_gauge_sign(struct common_sheet *sheet, const struct common_sign *sign)
{
	const struct common_row row = { .kind = COMMON_GAUGE, .unit = sign->unit };
	char before[48], least[48], share[SHARE_TEXT_SIZE];

	common_say(sheet, "%s at ", common_name(sheet->answer, sign->gauge));
	common_say_figure(sheet, &row, sign->level);
	common_say(sheet, " or %s would have warned %s before the line (median; %s%s)",
		   sign->below ? "less" : "more", common_length(sign->before_ns / 1e9, before),
		   "the shortest ", common_length(sign->least_ns / 1e9, least));
	common_say(sheet, ", in %u of %u incidents", sign->cases, sign->of_cases);
	if (!isnan(sign->vain))
		common_say(sheet, "; in vain for %s of the time", share_format(sign->vain, share));
	if (sign->at_least)
		common_say(sheet, "; some recordings begin with it");
}

static void common_say_full_sign(struct common_sheet *sheet, const struct common_sign *sign)
{
	char before[48];

	common_say(sheet, "a CPU was full from %s before the line on (median)",
		   common_length(sign->before_ns / 1e9, before));
	common_say(sheet, ", in %u of %u incidents and %u of %u controls", sign->cases,
		   sign->of_cases, sign->controls, sign->of_controls);
}

static void common_put_signs(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;

	for (size_t i = 0; i < answer->sign_count; i++) {
		const struct common_sign *sign = &answer->signs[i];

		if (sign->gauge)
			common_say_gauge_sign(sheet, sign);
		else
			common_say_full_sign(sheet, sign);
		common_end(sheet, i ? "" : "sign", STYLE_BOLD);
	}
	if (answer->sign_count)
		return;
	common_say(sheet, "nothing that changed before the incidents stands out");
	common_end(sheet, "sign", STYLE_BOLD);
}

static void common_put_unknown(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	unsigned int alone = answer->cases.count - answer->unread - answer->compared;

	if (answer->unread)
		common_say(sheet, "%u incident%s not recorded", answer->unread,
			   answer->unread == 1 ? " is" : "s are");
	if (alone)
		common_say(sheet, "%s%u incident%s no control window", sheet->line.size ? "; " : "",
			   alone, alone == 1 ? " has" : "s have");
	if (answer->limited)
		common_say(sheet, "%ssome controls were not read, to answer in time",
			   sheet->line.size ? "; " : "");
	if (sheet->line.size)
		common_end(sheet, "unknown", STYLE_BOLD);
}

/* Puts the commands that explain single incidents of a trait; of 0, those of none. */
static unsigned int common_put_group(struct common_sheet *sheet, size_t trait)
{
	const struct lines_shape shape = { .used = LABEL, .indent = LABEL };
	const struct common_answer *answer = sheet->answer;
	char command[4200], label[LABEL + 1] = "look";
	unsigned int shown = 0;

	if (trait && answer->trait_count > 1)
		snprintf(label, sizeof(label), "look %zu", trait % 10);
	for (size_t i = 0; i < answer->cases.count && shown < COMMANDS_EACH; i++) {
		const struct common_case *of = &answer->cases.items[i];

		if (of->trait != trait || !of->read)
			continue;
		common_command(of, sheet->screen->stores, command, sizeof(command));
		terminal_style(sheet->terminal, STYLE_BOLD, sheet->to);
		buffer_printf(sheet->to, "%-*s", LABEL, shown++ ? "" : label);
		terminal_style(sheet->terminal, STYLE_PLAIN, sheet->to);
		lines_put_command(sheet->terminal, shape, command, sheet->to);
	}
	return shown;
}

static void common_put_commands(struct common_sheet *sheet)
{
	const struct common_answer *answer = sheet->answer;
	unsigned int shown = 0;

	for (size_t trait = 1; trait <= answer->trait_count; trait++)
		shown += common_put_group(sheet, trait);
	shown += common_put_group(sheet, 0);
	if (answer->cases.count <= shown)
		return;
	common_say(sheet, "%zu more: --json lists all incidents", answer->cases.count - shown);
	common_end(sheet, "", STYLE_PLAIN);
}

void common_screen_draw(const struct common_screen *screen, const struct terminal *terminal,
			struct buffer *text)
{
	struct common_sheet sheet = {
		.screen = screen,
		.answer = screen->answer,
		.terminal = terminal,
		.to = text,
	};

	common_put_head(&sheet);
	common_put_traits(&sheet);
	common_put_signs(&sheet);
	common_put_patterns(&sheet);
	common_put_unknown(&sheet);
	common_put_commands(&sheet);
	buffer_done(&sheet.line);
}
