// SPDX-License-Identifier: GPL-2.0-only
#include "cli/fleet/fleet-answer.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"
#include "draw/lines.h"
#include "fleet/ask/label-split.h"

int fleet_answer_refuse(const struct invocation *invocation)
{
	static const char *const ours[] = { "label", "access", "host" };

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (option_typed(invocation, ours[i]))
			return usage_error("--%s goes with --fleet", ours[i]);
	return EXIT_DONE;
}

static bool fleet_answer_is_one(const char *const *list, const char *name)
{
	for (size_t i = 0; list && list[i]; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

/* Options that only a store understands would have no effect. */
static int fleet_answer_check(const struct invocation *invocation, const char *const *allowed)
{
	static const char *const usual[] = { "fleet", "access", "label", "at",	  "before", "after",
					     "from",  "to",	"since", "until", "json",   NULL };

	if (option_typed(invocation, "store"))
		return usage_error("--fleet and --store exclude each other; give one");
	for (const struct option *option = invocation->command->options; option->name; option++)
		if (option_typed(invocation, option->name) &&
		    !fleet_answer_is_one(usual, option->name) &&
		    !fleet_answer_is_one(allowed, option->name))
			return usage_error("--%s does not go with --fleet; it needs a store",
					   option->name);
	return EXIT_DONE;
}

static int fleet_answer_set_window(struct fleet_answer *answer, uint64_t usual_ns)
{
	if (window_given(answer->invocation))
		return window_option_parse(answer->invocation, &answer->window);
	answer->window.to_ns = clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC * NSEC_PER_SEC;
	answer->window.from_ns = answer->window.to_ns - usual_ns;
	return EXIT_DONE;
}

static int fleet_answer_set_label(struct fleet_answer *answer)
{
	const char *given = option_value(answer->invocation, "label");
	char *equal;

	if (!given)
		return EXIT_DONE;
	answer->label = strdup(given);
	if (!answer->label)
		return fail(-ENOMEM, NULL);
	equal = strchr(answer->label, '=');
	if (equal)
		*equal++ = 0;
	answer->value = equal;
	if (!*answer->label || (equal && !*equal))
		return option_error(answer->invocation, "label",
				    "'%.100s' is not NAME or NAME=VALUE, such as zone", given);
	return EXIT_DONE;
}

int fleet_answer_open(const struct invocation *invocation, const char *url,
		      const char *const *allowed, uint64_t usual_ns, struct fleet_answer *answer)
{
	struct error error = { 0 };
	int r = fleet_answer_check(invocation, allowed);

	*answer = (struct fleet_answer){ .invocation = invocation,
					 .json = option_given(invocation, "json") };
	if (r == EXIT_DONE)
		r = fleet_answer_set_window(answer, usual_ns);
	if (r == EXIT_DONE)
		r = fleet_answer_set_label(answer);
	if (r != EXIT_DONE)
		return r;
	screen_read_lines(invocation, &answer->terminal);
	r = access_read(option_value(invocation, "access"), &answer->access, &error);
	if (r == 0)
		r = server_open(url, &answer->access.http, &answer->server, &error);
	if (r == -EINVAL)
		return usage_error("%s", error.text);
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

void fleet_answer_done(struct fleet_answer *answer)
{
	server_close(answer->server);
	access_done(&answer->access);
	free(answer->label);
	buffer_done(&answer->line);
	buffer_done(&answer->text);
}

int fleet_answer_choose_value(struct fleet_answer *answer, const char *kind,
			      struct label_split *split, const char **ret_label,
			      const char **ret_value)
{
	const struct label_value *best;
	struct error error = { 0 };
	int r;

	*ret_label = answer->label ? answer->label : "";
	*ret_value = answer->value ? answer->value : "";
	if (!answer->label || answer->value)
		return EXIT_DONE;
	r = label_split_ask(answer->server, kind, answer->window.from_ns, answer->window.to_ns,
			    split, &error);
	if (r < 0)
		return fail(r, &error);
	best = label_split_best(split, answer->label);
	if (!best)
		warn("no host of the fleet has a label %s in this window", answer->label);
	else if (!split->incidents)
		warn("no incident tells which %s to compare; name it with --label %s=VALUE",
		     answer->label, answer->label);
	if (!best || !split->incidents)
		return EXIT_NOTHING;
	*ret_value = best->value;
	return EXIT_DONE;
}

static void fleet_answer_add(struct fleet_answer *answer, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	if (!text) {
		answer->text.failed = true;
		return;
	}
	/* hosts choose their names and labels; a newline in one would forge a line of the answer */
	foreign_clean(text);
	buffer_text(&answer->line, text);
}

void fleet_answer_say(struct fleet_answer *answer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fleet_answer_add(answer, format, args);
	va_end(args);
}

void fleet_answer_line(struct fleet_answer *answer, const char *format, ...)
{
	const struct lines_shape shape = { .indent = HEAD_INDENT, .prose = true };
	va_list args;

	va_start(args, format);
	fleet_answer_add(answer, format, args);
	va_end(args);
	lines_put(&answer->terminal, shape, buffer_shown(&answer->line), &answer->text);
	answer->text.failed |= answer->line.failed;
	answer->line.size = 0;
}

void fleet_answer_put_window(struct fleet_answer *answer)
{
	bool utc = option_given(answer->invocation, "utc");
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE], length[64];

	time_format(answer->window.from_ns, utc, 0, from);
	time_format(answer->window.to_ns, utc, 0, to);
	duration_format(answer->window.to_ns - answer->window.from_ns, length, sizeof(length));
	fleet_answer_line(answer, "fleet, %s to %s (%s)", from, to, length);
}

void fleet_answer_put_table(struct fleet_answer *answer, struct columns *table, size_t rows)
{
	columns_put(table, &answer->terminal, &answer->text);
	if (rows > table->rows)
		fleet_answer_line(answer, "%zu more row%s; --json has all", rows - table->rows,
				  plural(rows - table->rows));
	columns_done(table);
}

int fleet_answer_nothing(struct fleet_answer *answer, const char *why)
{
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];
	bool utc = option_given(answer->invocation, "utc");

	warn("%s, %s to %s", why, time_format(answer->window.from_ns, utc, 0, from),
	     time_format(answer->window.to_ns, utc, 0, to));
	return EXIT_NOTHING;
}

void fleet_answer_open_json(struct fleet_answer *answer, const char *kind)
{
	json_open(&answer->text, '{');
	fleet_answer_put_json_text(answer, "row", kind);
}

void fleet_answer_put_json_text(struct fleet_answer *answer, const char *key, const char *text)
{
	json_key(&answer->text, key);
	json_string(&answer->text, text);
}

void fleet_answer_put_json_count(struct fleet_answer *answer, const char *key, uint64_t count)
{
	json_key(&answer->text, key);
	json_u64(&answer->text, count);
}

void fleet_answer_put_json_real(struct fleet_answer *answer, const char *key, double real)
{
	json_key(&answer->text, key);
	if (isfinite(real))
		buffer_printf(&answer->text, "%.6g", real);
	else
		json_null(&answer->text);
}

void fleet_answer_put_json_window(struct fleet_answer *answer)
{
	json_time(&answer->text, "from", answer->window.from_ns);
	json_time(&answer->text, "to", answer->window.to_ns);
}

void fleet_answer_close_json(struct fleet_answer *answer)
{
	json_close(&answer->text, '}');
	buffer_u8(&answer->text, '\n');
}

int fleet_answer_print(struct fleet_answer *answer)
{
	return screen_print(&answer->text);
}
