// SPDX-License-Identifier: GPL-2.0-only
#include "draw/explain-screen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/number.h"
#include "draw/labelled-lines.h"
#include "draw/lines.h"
#include "query/explain/incident-words.h"

/* Functions of a path that are shown: the outermost ones, and those at the end. */
#define PATH_HEAD 2
#define PATH_TAIL 6
#define VERDICTS_SHOWN 3
#define NEW_SHOWN 3
/* From this percentage on, a cell of a strip is full. */
#define FULL 95

/* The forms of the screen. Each is shorter than the one before it. */
enum explain_form {
	EXPLAIN_WHOLE,
	/* one command */
	EXPLAIN_ONE_COMMAND,
	/* the verdicts behind the first one without evidence */
	EXPLAIN_ONE_VERDICT,
	/* only the worst CPU, and what is usual in one sentence */
	EXPLAIN_ONE_CPU,
	/* at most two rows of each line, then one; but all rows of the first verdict */
	EXPLAIN_TWO_ROWS,
	EXPLAIN_ONE_ROW,
};

struct sheet {
	const struct explain_screen *screen;
	enum explain_form form;
	const struct evidence *evidence;
	struct labelled_lines lines;
};

static const char *explain_name_at(const struct sheet *sheet, uint32_t name)
{
	return evidence_name(sheet->evidence, name);
}

/* Writes "12:24:43.1". */
static const char *explain_clock_at(const struct sheet *sheet, uint64_t ns, int digits,
				    char text[TIME_TEXT_SIZE])
{
	char whole[TIME_TEXT_SIZE];

	time_format(ns, sheet->screen->utc, digits, whole);
	snprintf(text, TIME_TEXT_SIZE, "%.*s", digits ? 9 + digits : 8, whole + 11);
	return text;
}

/*
 * Answers in one row, before what the incident means: the worst full CPU, its thread and the
 * function on top. The function may be that of another thread, so each has a share of its own.
 */
static void explain_put_answer(struct sheet *sheet)
{
	const struct evidence_core *core = sheet->evidence->cores;
	char length[32], share[SHARE_TEXT_SIZE];

	if (!sheet->evidence->core_count || !core->full)
		return;
	labelled_lines_say(&sheet->lines, "CPU %u for %s", core->cpu,
			   duration_format(core->to_ns - core->from_ns, length, sizeof(length)));
	if (core->thread_count)
		labelled_lines_say(&sheet->lines, ": thread %s %s",
				   explain_name_at(sheet, core->threads[0].comm),
				   share_format(core->threads[0].share, share));
	if (core->leaf)
		labelled_lines_say(&sheet->lines, ", function %s %s",
				   explain_name_at(sheet, core->leaf),
				   share_format(core->leaf_share, share));
	labelled_lines_end(&sheet->lines, "full", STYLE_ALERT);
}

static void explain_put_head(struct sheet *sheet)
{
	const struct evidence *evidence = sheet->evidence;
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], day[TIME_TEXT_SIZE];

	time_format(evidence->stall_from_ns, sheet->screen->utc, 0, day);
	labelled_lines_say(&sheet->lines, "%s%.10s %s to %s", sheet->screen->host, day,
			   explain_clock_at(sheet, evidence->stall_from_ns, 1, from),
			   explain_clock_at(sheet, evidence->stall_to_ns, 1, to));
	if (evidence->incident.id)
		labelled_lines_say(&sheet->lines, ", incident %" PRIu64, evidence->incident.id);
	else if (*evidence->incident.kind)
		labelled_lines_say(&sheet->lines, ", %s", evidence->incident.kind);
	labelled_lines_end(&sheet->lines, "explain", STYLE_BOLD);
	explain_put_answer(sheet);
	incident_words_put(evidence, &sheet->lines.line);
	labelled_lines_end(&sheet->lines, "happened", STYLE_BOLD);
	if (!*evidence->window.note)
		return;
	labelled_lines_say(&sheet->lines, "%s", evidence->window.note);
	labelled_lines_end(&sheet->lines, "line", STYLE_BOLD);
}

/* The heatmap has the same symbol. */
static const char *explain_unknown_symbol(const struct sheet *sheet)
{
	return sheet->lines.terminal->unicode ? "\u2573" : "x";
}

static bool explain_has_unknown(const struct evidence *evidence)
{
	for (size_t i = 0; i < EVIDENCE_STRIP; i++)
		if (evidence->cores[0].strip[i] == EVIDENCE_STRIP_UNKNOWN)
			return true;
	return false;
}

static void explain_put_strip(struct sheet *sheet, const struct evidence_core *core)
{
	static const char *const blocks[] = { "\u2581", "\u2581", "\u2582", "\u2583", "\u2584",
					      "\u2585", "\u2586", "\u2587", "\u2588" };
	static const char ascii[] = "..:-=+*#@";

	for (size_t i = 0; i < EVIDENCE_STRIP; i++) {
		unsigned int level = core->strip[i] >= FULL ? 8 : core->strip[i] * 8 / 100;

		if (core->strip[i] == EVIDENCE_STRIP_UNKNOWN)
			buffer_text(&sheet->lines.line, explain_unknown_symbol(sheet));
		else if (sheet->lines.terminal->unicode)
			buffer_text(&sheet->lines.line, blocks[level]);
		else
			buffer_u8(&sheet->lines.line, ascii[level]);
	}
	buffer_text(&sheet->lines.line, " ");
}

/* Says a share of a CPU's time, unless it is negligible. */
static void explain_say_share(struct sheet *sheet, const char *what, double share)
{
	if (share >= 0.005)
		labelled_lines_say(&sheet->lines, ", %s %.0f %%", what, 100 * share);
}

static void explain_put_core(struct sheet *sheet, const struct evidence_core *core, bool brief)
{
	char label[24], length[32];

	snprintf(label, sizeof(label), "CPU %u ", core->cpu);
	explain_put_strip(sheet, core);
	if (core->full)
		labelled_lines_say(
			&sheet->lines, "full %s",
			duration_format(core->to_ns - core->from_ns, length, sizeof(length)));
	else
		labelled_lines_say(&sheet->lines, "busy %.0f %%", 100 * core->busy);
	explain_say_share(sheet, "user", core->user);
	explain_say_share(sheet, "kernel", core->kernel);
	explain_say_share(sheet, "irq", core->irq);
	explain_say_share(sheet, "softirq", core->softirq);
	explain_say_share(sheet, "steal", core->steal);
	if (brief && core->thread_count)
		labelled_lines_say(&sheet->lines, ": %s",
				   explain_name_at(sheet, core->threads[0].comm));
	labelled_lines_end(&sheet->lines, label, core->full ? STYLE_ALERT : STYLE_BOLD);
}

/* Returns the last part of a unit's path, and other paths as they are. */
static const char *explain_short_cgroup(const char *path)
{
	const char *last = strrchr(path, '/');

	return last && (strstr(last, ".service") || strstr(last, ".scope")) ? last + 1 : path;
}

static void explain_put_thread(struct sheet *sheet, const struct evidence_thread *thread)
{
	const struct evidence *evidence = sheet->evidence;
	char share[SHARE_TEXT_SIZE], machine[SHARE_TEXT_SIZE];

	labelled_lines_say(&sheet->lines, "%s %d/%d: %s of the CPU",
			   explain_name_at(sheet, thread->comm), thread->pid, thread->tid,
			   share_format(thread->share, share));
	if (evidence->cpus)
		labelled_lines_say(&sheet->lines, ", %s of the machine",
				   share_format(thread->share / evidence->cpus, machine));
	if (thread->cgroup)
		labelled_lines_say(&sheet->lines, "; %s",
				   explain_short_cgroup(explain_name_at(sheet, thread->cgroup)));
}

/* Puts the functions of the path, without those in the middle if it is long. */
static void explain_put_path(struct sheet *sheet, const struct evidence_core *core)
{
	size_t count = core->path_count;
	char share[SHARE_TEXT_SIZE];

	if (!count)
		return;
	for (size_t i = 0; i < count; i++) {
		if (i == PATH_HEAD && count > PATH_HEAD + PATH_TAIL + 1) {
			i = count - PATH_TAIL;
			labelled_lines_say(&sheet->lines, "... > ");
		}
		labelled_lines_say(&sheet->lines, "%s%s",
				   explain_name_at(sheet, core->path[i].function),
				   i + 1 < count ? " > " : "");
	}
	if (core->path[count - 1].function != core->leaf)
		labelled_lines_say(&sheet->lines, " > .. %s", explain_name_at(sheet, core->leaf));
	labelled_lines_say(&sheet->lines, " (%s)", share_format(core->leaf_share, share));
	labelled_lines_end(&sheet->lines, "path", STYLE_BOLD);
}

static void explain_put_axis(struct sheet *sheet)
{
	const struct evidence *evidence = sheet->evidence;
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];

	if (!evidence->core_count)
		return;
	labelled_lines_say(&sheet->lines, "%s%.*s%s",
			   explain_clock_at(sheet, evidence->strip_from_ns, 0, from),
			   EVIDENCE_STRIP - 16, "                ",
			   explain_clock_at(sheet, evidence->strip_to_ns, 0, to));
	if (!evidence->full_cpus)
		labelled_lines_say(&sheet->lines, " no CPU was full; the busiest");
	else
		labelled_lines_say(&sheet->lines,
				   " %" PRIu64 " of %" PRIu64 " CPUs without idle time%s",
				   evidence->full_cpus, evidence->cpus,
				   evidence->full_cpus > evidence->core_count ? ", the worst" : "");
	if (explain_has_unknown(evidence))
		labelled_lines_say(&sheet->lines, " (%s: no data)", explain_unknown_symbol(sheet));
	labelled_lines_say(&sheet->lines, ":");
	labelled_lines_end(&sheet->lines, "culprit", STYLE_BOLD);
}

/* The first core has its thread and its path; the others have a line each. */
static void explain_put_cores(struct sheet *sheet)
{
	const struct evidence *evidence = sheet->evidence;

	explain_put_axis(sheet);
	for (size_t i = 0; i < evidence->core_count; i++) {
		const struct evidence_core *core = &evidence->cores[i];

		if (i && sheet->form >= EXPLAIN_ONE_CPU)
			break;
		explain_put_core(sheet, core, i > 0);
		if (i || !core->thread_count)
			continue;
		explain_put_thread(sheet, &core->threads[0]);
		labelled_lines_end(&sheet->lines, "", STYLE_PLAIN);
		explain_put_path(sheet, core);
	}
}

static void explain_put_row(struct sheet *sheet, const struct evidence_thread *thread)
{
	const struct evidence_row *row = &thread->row;

	labelled_lines_say(&sheet->lines, ": %s %.2f CPUs now, usually %.2f, at most %.2f",
			   explain_name_at(sheet, thread->comm), row->now, row->usual, row->most);
	if (row->usual >= 0.005 && row->now >= 1.5 * row->usual)
		labelled_lines_say(&sheet->lines, " (%.0f times)", row->now / row->usual);
	labelled_lines_say(&sheet->lines, "; p = %.3f (%u rows tried)", row->chance.p,
			   row->chance.tried);
}

static void explain_put_full_chance(struct sheet *sheet, const struct evidence_core *core)
{
	const struct evidence_chance *chance = &core->full_chance;
	char length[32];

	if (!chance->windows)
		return;
	duration_format(sheet->evidence->quiet.stretch_ns, length, sizeof(length));
	labelled_lines_say(&sheet->lines, ". A CPU was as full in %u of %u other stretch%s of %s",
			   chance->as_much, chance->windows, chance->windows == 1 ? "" : "es",
			   length);
	if (core->recurs)
		labelled_lines_say(&sheet->lines, ", with %s %u times",
				   explain_name_at(sheet, core->threads[0].comm), core->recurs);
}

/* Says which functions of the path quiet windows do not have. */
static void explain_put_new(struct sheet *sheet, const struct evidence_core *core)
{
	size_t said = 0;

	for (size_t i = core->path_count; i-- > 0 && said < NEW_SHOWN;)
		if (core->path[i].is_new)
			labelled_lines_say(&sheet->lines, "%s%s", said++ ? ", " : ". New: ",
					   explain_name_at(sheet, core->path[i].function));
}

/* Says since when the end of the path takes time. */
static void explain_put_since(struct sheet *sheet)
{
	const struct evidence_since *since = &sheet->evidence->since;
	const char *function = explain_name_at(sheet, since->function);
	char time[TIME_TEXT_SIZE];

	if (!since->segments)
		return;
	if (since->changed)
		labelled_lines_say(&sheet->lines, ". %s takes %.3f CPUs since %s, %.3f before",
				   function, since->after,
				   explain_clock_at(sheet, since->at_ns, 0, time), since->before);
	else if (since->before < 0.0005)
		labelled_lines_say(&sheet->lines, ". %s is new: no time since %s", function,
				   explain_clock_at(sheet, since->first_ns, 0, time));
	else
		labelled_lines_say(&sheet->lines, ". %s takes %.3f CPUs at least since %s",
				   function, since->before,
				   explain_clock_at(sheet, since->first_ns, 0, time));
}

static void explain_put_normal(struct sheet *sheet)
{
	const struct evidence *evidence = sheet->evidence;
	const struct evidence_quiet *quiet = &evidence->quiet;
	const struct evidence_core *core = evidence->cores;
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], length[32];

	if (!quiet->count) {
		labelled_lines_say(&sheet->lines, "no quiet window to compare with");
	} else {
		labelled_lines_say(&sheet->lines, "%u quiet window%s of %s, %s to %s", quiet->count,
				   plural(quiet->count),
				   duration_format(quiet->length_ns, length, sizeof(length)),
				   explain_clock_at(sheet, quiet->from_ns, 0, from),
				   explain_clock_at(sheet, quiet->to_ns, 0, to));
		if (evidence->core_count && core->thread_count)
			explain_put_row(sheet, &core->threads[0]);
	}
	if (evidence->core_count && sheet->form < EXPLAIN_ONE_CPU) {
		explain_put_full_chance(sheet, core);
		explain_put_new(sheet, core);
	}
	if (sheet->form < EXPLAIN_ONE_CPU)
		explain_put_since(sheet);
	labelled_lines_say(&sheet->lines, ".");
	labelled_lines_end(&sheet->lines, "normal", STYLE_BOLD);
}

static void explain_put_victims(struct sheet *sheet)
{
	const struct evidence *evidence = sheet->evidence;
	const struct evidence_receive *receive = &evidence->receive;
	char wait[32], from[TIME_TEXT_SIZE];

	for (size_t i = 0; i < evidence->victim_count; i++)
		labelled_lines_say(
			&sheet->lines, "%s%s waited %s for a CPU from %s on", i ? "; " : "",
			explain_name_at(sheet, evidence->victims[i].name),
			duration_format(evidence->victims[i].wait_ns, wait, sizeof(wait)),
			explain_clock_at(sheet, evidence->victims[i].from_ns, 1, from));
	if (!evidence->victim_count)
		labelled_lines_say(&sheet->lines, "no victim seen%s",
				   evidence->waits_known ? ""
							 : " (waits for a CPU are not recorded)");
	if (receive->known)
		labelled_lines_say(&sheet->lines,
				   "; CPU %u received packets %.0f times per second, usually %.0f",
				   receive->cpu, receive->now, receive->usual);
	labelled_lines_end(&sheet->lines, "victim", STYLE_BOLD);
}

/* Separates parts of a line. */
static void sheet_and(struct sheet *sheet)
{
	if (sheet->lines.line.size)
		labelled_lines_say(&sheet->lines, "; ");
}

static void explain_say_cgroups(struct sheet *sheet, const struct evidence_host *host)
{
	if (isnan(host->tracked))
		return;
	labelled_lines_say(&sheet->lines, "memory cgroups: %.0f tracked", host->tracked);
	if (!isnan(host->in_use))
		labelled_lines_say(&sheet->lines, ", %.0f in use", host->in_use);
	if (!isnan(host->dying))
		labelled_lines_say(&sheet->lines, ", %.0f dying%s", host->dying,
				   host->dying_seen ? " (those that the recorder saw removed)"
						    : "");
	if (host->grown >= 1)
		labelled_lines_say(&sheet->lines, ", %.0f more than an hour before", host->grown);
	if (host->made_under)
		labelled_lines_say(&sheet->lines, ", under %s",
				   explain_name_at(sheet, host->made_under));
	if (host->made_by)
		labelled_lines_say(&sheet->lines, ", made by %s",
				   explain_name_at(sheet, host->made_by));
}

/* Says a figure if it moved: at least half as much again as usual, and not negligible. */
static void explain_say_figure(struct sheet *sheet, const char *what, const char *unit,
			       const struct evidence_figure *figure, double factor, double least)
{
	if (!(figure->now >= least) || figure->now < 1.5 * figure->usual)
		return;
	sheet_and(sheet);
	labelled_lines_say(&sheet->lines, "%s %.*f%s", what, factor > 1 ? 1 : 0,
			   factor * figure->now, unit);
	if (!isnan(figure->usual))
		labelled_lines_say(&sheet->lines, ", usually %.*f", factor > 1 ? 1 : 0,
				   factor * figure->usual);
}

static void explain_say_named(struct sheet *sheet, const struct evidence_host *host)
{
	char share[SHARE_TEXT_SIZE];

	for (size_t i = 0; i < host->throttled_count; i++) {
		sheet_and(sheet);
		labelled_lines_say(&sheet->lines, "quota stopped %s %s of the time",
				   explain_name_at(sheet, host->throttled[i].name),
				   share_format(host->throttled[i].figure.now, share));
	}
	for (size_t i = 0; i < host->started_count; i++) {
		sheet_and(sheet);
		labelled_lines_say(&sheet->lines, "%s started %.0f time%s",
				   explain_name_at(sheet, host->started[i].name),
				   host->started[i].figure.now,
				   host->started[i].figure.now == 1 ? "" : "s");
	}
	for (size_t i = 0; i < host->message_count; i++) {
		sheet_and(sheet);
		labelled_lines_say(&sheet->lines, "kernel: %s (%u line%s)",
				   explain_name_at(sheet, host->messages[i].kind),
				   host->messages[i].lines, plural(host->messages[i].lines));
	}
}

static void explain_put_host(struct sheet *sheet)
{
	const struct evidence_host *host = &sheet->evidence->host;

	explain_say_cgroups(sheet, host);
	explain_say_figure(sheet, "direct reclaim", " per second", &host->stalls, 1, 1);
	explain_say_figure(sheet, "tasks waited for CPUs", " % of the time", &host->cpu_pressure,
			   100, 0.05);
	explain_say_figure(sheet, "all waited for memory", " % of the time", &host->memory_pressure,
			   100, 0.01);
	explain_say_figure(sheet, "all waited for disks", " % of the time", &host->io_pressure, 100,
			   0.05);
	explain_say_figure(sheet, "processes started", " per second", &host->forks, 1, 10);
	explain_say_named(sheet, host);
	for (size_t i = 0; i < sheet->evidence->binary_count; i++) {
		sheet_and(sheet);
		labelled_lines_say(&sheet->lines, "changed file %s",
				   explain_name_at(sheet, sheet->evidence->binaries[i]));
	}
	if (!host->read)
		sheet_and(sheet);
	if (!host->read)
		labelled_lines_say(&sheet->lines, "no figures of the host are recorded");
	else if (!sheet->lines.line.size)
		labelled_lines_say(&sheet->lines, "no figure of the host moved");
	labelled_lines_end(&sheet->lines, "context", STYLE_BOLD);
}

/* Limits the rows of the lines that follow, as the form of the screen says. */
static void explain_limit(struct sheet *sheet, bool limited)
{
	if (!limited || sheet->form < EXPLAIN_TWO_ROWS)
		sheet->lines.most = 0;
	else
		sheet->lines.most = sheet->form == EXPLAIN_TWO_ROWS ? 2 : 1;
}

static void explain_put_verdicts(struct sheet *sheet)
{
	const struct verdicts *verdicts = &sheet->screen->explain->verdicts;

	for (size_t i = 0; i < MIN(verdicts->count, (size_t)VERDICTS_SHOWN); i++) {
		const struct verdict *verdict = &verdicts->list[i];

		labelled_lines_say(&sheet->lines, "%s: %s", confidence_name(verdict->confidence),
				   verdict->title);
		if (!i || sheet->form < EXPLAIN_ONE_VERDICT)
			labelled_lines_say(&sheet->lines, ": %s. Next: %s.", verdict->evidence,
					   verdict->next);
		explain_limit(sheet, i > 0);
		labelled_lines_end(&sheet->lines, i ? "" : "verdict",
				   verdict->accuses ? STYLE_ALERT : STYLE_GOOD);
	}
}

static void explain_put_unknown(struct sheet *sheet)
{
	const struct evidence *evidence = sheet->evidence;
	const struct coverage *coverage = &evidence->coverage;

	coverage_describe(coverage, &sheet->lines.line);
	labelled_lines_end(&sheet->lines, "unknown", STYLE_BOLD);
}

static void explain_put_command(struct sheet *sheet, const char *label, const char *command)
{
	const struct lines_shape shape = { .used = LABELLED_LINES_INDENT,
					   .indent = LABELLED_LINES_INDENT };

	terminal_style(sheet->lines.terminal, STYLE_BOLD, sheet->lines.to);
	buffer_printf(sheet->lines.to, "%-*s", LABELLED_LINES_INDENT, label);
	terminal_style(sheet->lines.terminal, STYLE_PLAIN, sheet->lines.to);
	lines_put_command(sheet->lines.terminal, shape, command, sheet->lines.to);
}

/* Writes the options of the same window: the incident's, if the store has it. */
static void explain_window_options(const struct sheet *sheet, char options[128])
{
	const struct evidence *evidence = sheet->evidence;

	if (evidence->incident.id)
		snprintf(options, 128, "--incident %" PRIu64, evidence->incident.id);
	else
		snprintf(options, 128, "--from @%" PRIu64 " --to @%" PRIu64,
			 (uint64_t)(evidence->stall_from_ns / NSEC_PER_SEC),
			 (uint64_t)(evidence->stall_to_ns / NSEC_PER_SEC + 1));
}

static void explain_put_commands(struct sheet *sheet)
{
	const struct evidence *evidence = sheet->evidence;
	const char *store = sheet->screen->store;
	char command[FOREIGN_WORD_SIZE + 256], options[128];

	explain_window_options(sheet, options);
	if (evidence->core_count)
		snprintf(command, sizeof(command), "perftape flamegraph %s%s --cpu %u -o cpu%u.svg",
			 store, options, evidence->cores[0].cpu, evidence->cores[0].cpu);
	else
		snprintf(command, sizeof(command), "perftape flamegraph %s%s -o stall.svg", store,
			 options);
	explain_put_command(sheet, "look", command);
	if (sheet->form >= EXPLAIN_ONE_COMMAND) {
		labelled_lines_say_short(&sheet->lines);
		return;
	}
	snprintf(command, sizeof(command), "perftape diff %s%s --baseline 12h", store, options);
	explain_put_command(sheet, "", command);
	snprintf(command, sizeof(command), "perftape heatmap %s%s --per-cpu", store, options);
	explain_put_command(sheet, "", command);
}

static void explain_screen_draw_as(const struct explain_screen *screen, enum explain_form form,
				   struct labelled_lines *lines)
{
	struct sheet sheet = {
		.screen = screen,
		.form = form,
		.evidence = &screen->explain->evidence,
		.lines = { .terminal = lines->terminal, .to = lines->to },
	};

	explain_limit(&sheet, true);
	explain_put_head(&sheet);
	explain_put_cores(&sheet);
	explain_put_victims(&sheet);
	explain_put_normal(&sheet);
	explain_put_host(&sheet);
	explain_put_verdicts(&sheet);
	explain_limit(&sheet, true);
	explain_put_unknown(&sheet);
	explain_limit(&sheet, false);
	explain_put_commands(&sheet);
	labelled_lines_done(&sheet.lines);
}

void explain_screen_draw(const struct explain_screen *screen, const struct terminal *terminal,
			 struct buffer *text)
{
	struct labelled_lines lines = { .terminal = terminal, .to = text };
	size_t begin = text->size;

	for (int form = EXPLAIN_WHOLE; form <= EXPLAIN_ONE_ROW; form++) {
		text->size = begin;
		explain_screen_draw_as(screen, form, &lines);
		if (!labelled_lines_is_tall(&lines, begin, screen->rows_below))
			return;
	}
}
