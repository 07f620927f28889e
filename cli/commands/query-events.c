// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/query-events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "cli/answer/coverage-line.h"
#include "cli/answer/guarded-output.h"
#include "cli/answer/dying-text.h"
#include "cli/answer/name-hints.h"
#include "cli/answer/screen.h"
#include "cli/window/window-options.h"
#include "draw/lines.h"
#include "query/read/event-cursor.h"
#include "query/read/store-host.h"

#define LINE_INDENT 4

struct events_answer {
	const struct invocation *invocation;
	bool json, utc;
	/* For the first line of the answer; "" if a program reads it. */
	struct recorded_facts facts;
	/* Lines wrap only if the answer goes to the terminal. */
	struct terminal terminal;
	struct output output;
	struct event_cursor_totals totals;
};

static void query_events_answer_done(struct events_answer *answer)
{
	event_cursor_totals_done(&answer->totals);
	output_done(&answer->output);
}

int query_events_check(const struct invocation *invocation, bool json)
{
	static const char *const others[] = { "kernel",	      "user",  "no-idle", "weight",
					      "thread-frame", "split", "mark",	  "no-header" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (option_given(invocation, others[i]))
			return usage_error("--%s goes with samples, not with --events", others[i]);
	if (option_given(invocation, "format") && !json)
		return usage_error("--events prints lines, or JSON with --format json");
	return EXIT_DONE;
}

static int query_events_make(void *context, const struct event_cursor_row *row, struct buffer *text)
{
	const struct events_answer *answer = context;
	_cleanup_(buffer_done) struct buffer line = { 0 };

	if (answer->json) {
		event_cursor_put_json(row, text);
	} else if (!answer->terminal.wrap) {
		event_cursor_put_line(row, answer->utc, text);
	} else {
		event_cursor_put_line(row, answer->utc, &line);
		buffer_u8(&line, 0);
		if (buffer_failed(&line))
			return -ENOMEM;
		lines_put(&answer->terminal, (struct lines_shape){ .indent = LINE_INDENT },
			  (const char *)line.data, text);
	}
	return buffer_failed(text) ? -ENOMEM : 0;
}

static int query_events_take(void *context, const void *text, size_t size)
{
	struct events_answer *answer = context;
	struct output *output = &answer->output;

	if (*answer->facts.host)
		buffer_printf(&output->text, "# host %s\n", answer->facts.host);
	*answer->facts.host = 0;
	buffer_bytes(&output->text, text, size);
	output_flush(output);
	if (buffer_failed(&output->text))
		return -ENOMEM;
	/* the reader closed the pipe */
	return output->failed == -EPIPE ? -EPIPE : 0;
}

/* Returns whether matching events may be missing. */
static bool is_short(const struct event_cursor_totals *totals)
{
	return totals->only_counted || totals->lost;
}

static void say_events(const struct events_answer *answer, const struct event_cursor_totals *totals)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	if (option_given(answer->invocation, "quiet") && coverage_is_whole(&totals->coverage) &&
	    !is_short(totals))
		return;
	if (totals->only_counted)
		buffer_printf(&text, "%llu more were only counted, ",
			      (unsigned long long)totals->only_counted);
	buffer_printf(&text, "%llu lost%s; ", (unsigned long long)totals->lost,
		      totals->lost && option_given(answer->invocation, "name") ? " of any name"
									       : "");
	coverage_describe(&totals->coverage, &text);
	warn("%llu event%s, %s", (unsigned long long)totals->count, plural(totals->count),
	     buffer_shown(&text));
}

/* Prints the names of the events that were only counted, and when. */
static void say_overflows(const struct events_answer *answer,
			  const struct event_cursor_totals *totals)
{
	for (uint32_t i = 0; i < totals->overflows.count; i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };

		if (!totals->overflows.items[i].count)
			continue;
		event_cursor_describe_overflow(totals, i, answer->utc, &text);
		say(answer->invocation,
		    "only counted, beyond the limit for one event in a second: %s",
		    buffer_shown(&text));
	}
}

/*
 * Reports that the window was recorded, but does not contain such an event. Returns the exit code.
 */
static int say_none(const struct events_answer *answer, const struct question *question,
		    struct store_reader *reader)
{
	struct error error = { 0 };
	int r = option_given(answer->invocation, "name")
			? name_hints_say_events(answer->invocation, reader, question, &error)
			: 0;

	if (r < 0)
		return fail(r, &error);
	if (r == 0)
		warn("that window was recorded, but has no such trace event");
	return is_short(&answer->totals) && option_given(answer->invocation, "strict")
		       ? EXIT_PARTIAL
		       : EXIT_NOTHING;
}

/*
 * Prints which programs made the cgroups that were dying at the end. The window may lie between two
 * events that state this. Returns EXIT_DONE, or EXIT_FAILED after a message.
 */
static int say_dying(const struct events_answer *answer, const struct question *question,
		     struct store_reader *reader)
{
	_cleanup_(dying_state_done) struct dying_state state = { 0 };
	struct error error = { 0 };
	int r = dying_state_read(reader, question->window.from_ns, question->window.to_ns, &state,
				 &error);

	for (size_t i = 0; r == 0 && i < MIN(state.kinds.count, (size_t)DYING_TEXT_KINDS); i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };

		dying_text_kind(&state.kinds.items[i], &answer->terminal, &text);
		if (buffer_failed(&text))
			r = -ENOMEM;
		else
			say(answer->invocation, "at the end: %s", buffer_shown(&text));
	}
	return r < 0 ? fail(r, &error) : EXIT_DONE;
}

static int query_events_finish(struct events_answer *answer, const struct question *question,
			       struct store_reader *reader)
{
	const struct coverage *coverage = &answer->totals.coverage;
	int code;

	if (answer->json)
		event_cursor_put_totals_json(&answer->totals, &answer->output.text);
	if (answer->json)
		coverage_put_json(coverage, &question->window, &answer->output.text);
	code = coverage_line_commit(answer->invocation, &answer->output, 0, coverage);
	if (code == EXIT_FAILED)
		return code;
	if (!answer->totals.count && !coverage->covered_ns)
		return coverage_line_nothing(answer->invocation, reader, &question->window,
					     coverage);
	say_events(answer, &answer->totals);
	say_overflows(answer, &answer->totals);
	if (say_dying(answer, question, reader) != EXIT_DONE)
		return EXIT_FAILED;
	say_gaps_and_recorder(answer->invocation, reader, &question->window, coverage);
	if (!answer->totals.count)
		return say_none(answer, question, reader);
	if (code == EXIT_DONE && is_short(&answer->totals) &&
	    option_given(answer->invocation, "strict"))
		return EXIT_PARTIAL;
	return code;
}

static int query_events_read(struct events_answer *answer, struct event_cursor_options *options,
			     struct store_reader *reader, struct error *error)
{
	const struct invocation *invocation = answer->invocation;
	int r = guarded_output_open(&answer->output, option_value(invocation, "output"),
				    option_given(invocation, "force"), error);

	if (r != 0)
		return r;
	if (!answer->json)
		r = store_host_find(reader, &options->question.window, &answer->facts, error);
	return r != 0 ? r : event_cursor_run(reader, options, &answer->totals, error);
}

int query_events(const struct invocation *invocation, const struct question *question,
		 struct store_reader *reader, bool json)
{
	_cleanup_(query_events_answer_done) struct events_answer answer = {
		.invocation = invocation,
		.json = json,
		.utc = option_given(invocation, "utc"),
	};
	struct event_cursor_options options = {
		.question = *question,
		.make = query_events_make,
		.take = query_events_take,
		.context = &answer,
	};
	const char *path = option_value(invocation, "output");
	struct error error = { 0 };
	int r = globs_option_parse(invocation, "name", &options.names);

	if (r != EXIT_DONE)
		return r;
	screen_read_lines(NULL, &answer.terminal);
	if (path && strcmp(path, "-") != 0)
		answer.terminal.wrap = 0;
	r = query_events_read(&answer, &options, reader, &error);
	if (r == -EPIPE)
		return EXIT_DONE;
	return r < 0 ? fail(r, &error) : query_events_finish(&answer, question, reader);
}
