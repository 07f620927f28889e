// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/foreign.h"
#include "cli/answer/coverage-line.h"
#include "cli/explain/explain-all.h"
#include "cli/explain/explain-incident.h"
#include "cli/answer/host-name.h"
#include "cli/answer/query-args.h"
#include "cli/answer/screen.h"
#include "cli/fleet/fleet-answer.h"
#include "cli/fleet/fleet-explain.h"
#include "cli/options/command.h"
#include "cli/window/window-options.h"
#include "draw/explain-screen.h"
#include "query/explain/explain.h"

#define AROUND_NS (12 * 3600 * NSEC_PER_SEC)
/* The time for reading quiet windows, so that an answer takes about a second. */
#define LIMIT_NS (500 * NSEC_PER_MSEC)

static const struct option options[] = {
	WINDOW_OPTIONS,
	{ "baseline", 0, "LENGTH",
	  "compare with this much before and after the stall (default: 12h)" },
	{ "all", 0, NULL, "what all incidents have in common (--store may be given again)" },
	{ "kind", 0, "KIND", "with --all: only this kind, such as ena_reset or oom" },
	JSON_OPTION,
	FLEET_URL_OPTIONS,
	{ 0 },
};

static const char about[] =
	"Explains an incident or a window: what was starved, by which CPU, thread and code path,\n"
	"against what is usual on this host, with what else changed. Each verdict says how sure\n"
	"it is, what supports it and what to do next. Without an incident in the window, the\n"
	"answer is about the window itself; of more than a minute, about the worst full CPU.\n"
	"\n"
	"--all compares all incidents, or those of a window, with control windows of the same\n"
	"hosts: threads, functions, code paths, cgroups, gauges, CPUs, queues and times that\n"
	"more incidents have, and what would have warned. Each --store adds a store or snapshot.\n"
	"With --fleet, what comes before the incidents of all hosts: the 5 s before each, against\n"
	"the half minute before, and the last minute, against the 40 min before.\n"
	"\n" WINDOW_ABOUT;

struct explain_answer {
	const struct invocation *invocation;
	struct query_args args;
	struct explain_options options;
	struct terminal terminal;
	struct explain explain;
};

static int explain_parse(struct explain_answer *answer)
{
	const struct invocation *invocation = answer->invocation;
	const char *around = option_value(invocation, "baseline");
	int r = query_args_parse(invocation, &answer->args);

	answer->options = (struct explain_options){
		.question = answer->args.question,
		.around_ns = AROUND_NS,
		.limit_ns = LIMIT_NS,
		.threads = screen_threads(),
	};
	answer->options.question.threads = answer->options.threads;
	if (r == EXIT_DONE)
		r = screen_read(invocation, &answer->terminal);
	if (r == EXIT_DONE && around && duration_parse(around, &answer->options.around_ns) < 0)
		r = usage_error("--baseline: \"%.60s\" is not a length of time; use 12h or 7d",
				around);
	return r;
}

static int explain_print(const struct explain_answer *answer)
{
	const struct invocation *invocation = answer->invocation;
	const struct evidence *evidence = &answer->explain.evidence;
	_cleanup_(buffer_done) struct buffer text = { 0 };
	const struct window stall = { .from_ns = evidence->stall_from_ns,
				      .to_ns = evidence->stall_to_ns };
	const char *given = option_value(invocation, "store");
	char host[HOST_NAME_SIZE], word[FOREIGN_WORD_SIZE], store[FOREIGN_WORD_SIZE + 16] = "";

	if (option_given(invocation, "json")) {
		explain_put_json(&answer->explain, &text);
		coverage_put_json(&evidence->coverage, &stall, &text);
		return screen_print(&text);
	}
	if (given)
		snprintf(store, sizeof(store), "--store %s ", foreign_shell_word(given, word));
	explain_screen_draw(
		&(struct explain_screen){ &answer->explain,
					  host_name_prefix(&evidence->coverage.facts, host), store,
					  option_given(invocation, "utc"),
					  gaps_rows(invocation, &evidence->coverage) },
		&answer->terminal, &text);
	return screen_print_drawing(&answer->terminal, &text);
}

static int explain_find(struct explain_answer *answer, struct store_reader *reader,
			struct error *error)
{
	struct evidence *evidence = &answer->explain.evidence;
	const struct question *question = &answer->options.question;
	int r = explain_incident_find(answer->invocation, reader, &question->window, evidence,
				      error);

	if (r < 0)
		return r;
	r = explain_narrow(reader, question, evidence, error);
	return r < 0 ? r : explain_run(reader, &answer->options, &answer->explain, error);
}

static int explain_answer_run(struct explain_answer *answer)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct evidence *evidence = &answer->explain.evidence;
	const struct invocation *invocation = answer->invocation;
	struct window stall = { 0 };
	struct error error = { 0 };
	int r = store_reader_open(store_path(invocation), &reader, &error), code;

	if (r < 0)
		return fail(r, &error);
	r = explain_find(answer, reader, &error);
	if (r < 0)
		return fail(r, &error);
	stall = (struct window){ .from_ns = evidence->stall_from_ns,
				 .to_ns = evidence->stall_to_ns };
	if (!evidence->samples && !*evidence->incident.kind)
		return screen_nothing(invocation, reader, &stall, &evidence->coverage);
	code = explain_print(answer);
	if (code == EXIT_DONE && !evidence->samples)
		return coverage_line_nothing(invocation, reader, &stall, &evidence->coverage);
	if (!option_given(invocation, "json"))
		say_gaps_and_recorder(invocation, reader, &stall, &evidence->coverage);
	return code == EXIT_DONE ? coverage_line_code(invocation, &evidence->coverage) : code;
}

static int explain_command_run(const struct invocation *invocation)
{
	struct explain_answer answer = { .invocation = invocation };
	int r;

	if (option_given(invocation, "fleet"))
		return fleet_explain(invocation);
	r = fleet_answer_refuse(invocation);
	if (r != EXIT_DONE)
		return r;
	if (option_given(invocation, "all"))
		return explain_all_run(invocation);
	if (option_given(invocation, "kind"))
		return usage_error("--kind goes with --all; --incident KIND names one incident");
	r = explain_parse(&answer);
	if (r == EXIT_DONE) {
		query_args_keep_memory();
		r = explain_answer_run(&answer);
	}
	explain_done(&answer.explain);
	query_args_done(&answer.args);
	return r;
}

const struct command command_explain = {
	.name = "explain",
	.summary = "Explain an incident: which CPU, thread and code path, against what is usual",
	.about = about,
	.options = options,
	.run = explain_command_run,
};
