// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/query-events.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/answer/coverage-line.h"
#include "cli/window/window-options.h"
#include "query/read/event-cursor.h"

struct events_answer {
	const struct invocation *invocation;
	bool json, utc;
	struct output output;
	struct event_cursor_told told;
};

static void query_events_answer_done(struct events_answer *answer)
{
	event_cursor_told_done(&answer->told);
	output_done(&answer->output);
}

int query_events_check(const struct invocation *invocation, bool json)
{
	static const char *const others[] = { "kernel", "user",		"no-idle",
					      "weight", "thread-frame", "split" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (option_given(invocation, others[i]))
			return usage_error("--%s is of samples, not of --events", others[i]);
	if (option_given(invocation, "format") && !json)
		return usage_error("--events has lines, or --format json");
	return EXIT_DONE;
}

static int query_events_make(void *context, const struct event_cursor_row *row, struct buffer *text)
{
	const struct events_answer *answer = context;

	if (answer->json)
		event_cursor_put_json(row, text);
	else
		event_cursor_put_line(row, answer->utc, text);
	return buffer_failed(text) ? -ENOMEM : 0;
}

static int query_events_take(void *context, const void *text, size_t size)
{
	struct output *output = &((struct events_answer *)context)->output;

	buffer_bytes(&output->text, text, size);
	output_flush(output);
	if (buffer_failed(&output->text))
		return -ENOMEM;
	/* who reads has seen enough */
	return output->failed == -EPIPE ? -EPIPE : 0;
}

/* Of what was asked for some may be missing. */
static bool is_short(const struct event_cursor_told *told)
{
	return told->only_counted || told->nameless;
}

static void say_events(const struct events_answer *answer, const struct event_cursor_told *told)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	if (option_given(answer->invocation, "quiet") && coverage_is_whole(&told->coverage) &&
	    !is_short(told))
		return;
	if (told->only_counted)
		buffer_printf(&text, "%llu more were too many at once and are only counted, ",
			      (unsigned long long)told->only_counted);
	buffer_printf(&text, "%llu lost%s; ", (unsigned long long)told->nameless,
		      told->nameless && option_given(answer->invocation, "name")
			      ? " of whatever name"
			      : "");
	coverage_describe(&told->coverage, &text);
	fprintf(stderr, "perftape: %llu event%s, %.*s\n", (unsigned long long)told->count,
		told->count == 1 ? "" : "s", (int)text.size, text.data ? (char *)text.data : "");
}

/* Each name's, and when: what is looked for may be among them. */
static void say_over(const struct events_answer *answer, const struct event_cursor_told *told)
{
	for (uint32_t i = 0; i < told->over.count; i++) {
		_cleanup_(buffer_done) struct buffer text = { 0 };

		if (!told->over.items[i].count)
			continue;
		event_cursor_describe_over(told, i, answer->utc, &text);
		say(answer->invocation,
		    "only counted, as more than the recorder keeps of one event in a second: %.*s",
		    (int)text.size, text.data ? (char *)text.data : "");
	}
}

/* None, though the window was recorded. */
static int say_none(const struct events_answer *answer)
{
	fprintf(stderr, "perftape: that window was recorded, but no such trace event in it\n");
	return is_short(&answer->told) && option_given(answer->invocation, "strict") ? EXIT_PARTIAL
										     : EXIT_NOTHING;
}

static int query_events_finish(struct events_answer *answer, const struct question *question,
			       struct store_reader *reader)
{
	const struct coverage *coverage = &answer->told.coverage;
	int code;

	if (answer->json)
		event_cursor_put_told_json(&answer->told, &answer->output.text);
	if (answer->json)
		coverage_put_json(coverage, &question->window, &answer->output.text);
	code = coverage_line_commit(answer->invocation, &answer->output, 0, coverage);
	if (code == EXIT_FAILED)
		return code;
	if (!answer->told.count && !coverage->covered_ns)
		return coverage_line_nothing(answer->invocation, reader, &question->window,
					     coverage);
	say_events(answer, &answer->told);
	say_over(answer, &answer->told);
	say_gaps_and_recorder(answer->invocation, reader, &question->window, coverage);
	if (!answer->told.count)
		return say_none(answer);
	if (code == EXIT_DONE && is_short(&answer->told) &&
	    option_given(answer->invocation, "strict"))
		return EXIT_PARTIAL;
	return code;
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
	struct error error = { 0 };
	int r = globs_option_parse(invocation, "name", &options.names);

	if (r != EXIT_DONE)
		return r;
	r = output_open(&answer.output, option_value(invocation, "output"), &error);

	if (r == 0)
		r = event_cursor_run(reader, &options, &answer.told, &error);
	if (r == -EPIPE)
		return EXIT_DONE;
	return r < 0 ? fail(r, &error) : query_events_finish(&answer, question, reader);
}
