// SPDX-License-Identifier: GPL-2.0-only
#include "cli/fleet/fleet-top.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cli/fleet/fleet-answer.h"
#include "fleet/ask/label-split.h"
#include "fleet/ask/name-shares.h"

/* Sums of a longer time take the server long; a window allows it. */
#define TOP_NS (600 * NSEC_PER_SEC)

static const char *const allowed[] = { "by", "host", NULL };

static const struct columns_column columns_of_names[] = {
	{ .title = "share", .right = true },
	{ .title = "hosts", .right = true },
	{ .title = "most on", .yield = COLUMNS_SHRINKS, .turn = 2, .least = 12 },
	{ .title = "of all", .right = true, .yield = COLUMNS_LEAVES, .turn = 3 },
	{ .title = "name", .yield = COLUMNS_SHRINKS, .turn = 1, .least = 20 },
};

static int fleet_top_parse_by(const struct invocation *invocation, const char **ret_by)
{
	static const char *const words[] = { "function", "thread", "host" };
	const char *given = option_value(invocation, "by");

	*ret_by = words[0];
	for (size_t i = 0; given && i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], given) == 0) {
			*ret_by = words[i];
			return EXIT_DONE;
		}
	return given ? usage_error("with --fleet, --by is function, thread or host, not '%.60s'",
				   given)
		     : EXIT_DONE;
}

static double fleet_top_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Says whose samples these are: "web-17", "hosts with zone=az3", "fleet". */
static void fleet_top_put_scope(struct fleet_answer *answer, const struct name_question *question)
{
	if (question->host)
		fleet_answer_line(answer, "Only host %s", question->host);
	if (*question->label)
		fleet_answer_line(answer, "Only hosts with %s=%s", question->label,
				  question->value);
}

static void fleet_top_put_screen(struct fleet_answer *answer, const struct name_question *question,
				 const struct name_top *top)
{
	struct columns table = { .list = columns_of_names, .count = ARRAY_SIZE(columns_of_names) };
	const struct name_top_row *first = top->list.items;
	char share[SHARE_TEXT_SIZE], most[SHARE_TEXT_SIZE];

	fleet_answer_line(answer, "%s %s has most: %s of all samples, on %llu host%s, most on %s",
			  question->by, first->name,
			  share_format(fleet_top_share(first->samples, top->samples), share),
			  (unsigned long long)first->hosts, plural(first->hosts), first->most_host);
	fleet_answer_put_window(answer);
	fleet_top_put_scope(answer, question);
	fleet_answer_say(answer, "Sums of whole minutes, which have the heaviest stacks; ");
	fleet_answer_line(answer, "%s of the samples are idle CPUs or other stacks",
			  share_format(fleet_top_share(top->unnamed, top->samples), share));
	for (size_t i = 0; i < MIN(top->list.count, (size_t)FLEET_ROWS); i++) {
		const struct name_top_row *row = &top->list.items[i];

		columns_add(&table, "%s",
			    share_format(fleet_top_share(row->samples, top->samples), share));
		columns_add(&table, "%llu", (unsigned long long)row->hosts);
		columns_add(&table, "%s", row->most_host);
		columns_add(&table, "%s",
			    share_format(fleet_top_share(row->most, row->samples), most));
		columns_add(&table, "%s", row->name);
		columns_end_row(&table, NULL);
	}
	fleet_answer_put_table(answer, &table, top->list.count);
}

static void fleet_top_put_json(struct fleet_answer *answer, const struct name_question *question,
			       const struct name_top *top)
{
	for (size_t i = 0; i < top->list.count; i++) {
		const struct name_top_row *row = &top->list.items[i];

		fleet_answer_open_json(answer, question->by);
		fleet_answer_put_json_text(answer, "name", row->name);
		fleet_answer_put_json_count(answer, "samples", row->samples);
		fleet_answer_put_json_count(answer, "hosts", row->hosts);
		fleet_answer_put_json_text(answer, "most_host", row->most_host);
		fleet_answer_put_json_count(answer, "most_samples", row->most);
		fleet_answer_close_json(answer);
	}
	fleet_answer_open_json(answer, "fleet");
	fleet_answer_put_json_window(answer);
	fleet_answer_put_json_count(answer, "samples", top->samples);
	fleet_answer_put_json_count(answer, "idle_or_other", top->unnamed);
	fleet_answer_close_json(answer);
}

static int fleet_top_answer(struct fleet_answer *answer, const char *by)
{
	_cleanup_(label_split_done) struct label_split split = { 0 };
	_cleanup_(name_top_done) struct name_top top = { 0 };
	struct name_question question = { .by = by,
					  .host = option_value(answer->invocation, "host"),
					  .from_ns = answer->window.from_ns,
					  .to_ns = answer->window.to_ns };
	struct error error = { 0 };
	int r = fleet_answer_choose_value(answer, "", &split, &question.label, &question.value);

	if (r != EXIT_DONE)
		return r;
	r = name_top_ask(answer->server, &question, &top, &error);
	if (r < 0)
		return fail(r, &error);
	if (!top.list.count)
		return fleet_answer_nothing(answer,
					    "the fleet has no sums of busy CPUs in this window");
	if (answer->json)
		fleet_top_put_json(answer, &question, &top);
	else
		fleet_top_put_screen(answer, &question, &top);
	return fleet_answer_print(answer);
}

int fleet_top(const struct invocation *invocation)
{
	_cleanup_(fleet_answer_done) struct fleet_answer answer = { 0 };
	const char *by;
	int r = fleet_top_parse_by(invocation, &by);

	if (r == EXIT_DONE)
		r = fleet_answer_open(invocation, option_value(invocation, "fleet"), allowed,
				      TOP_NS, &answer);
	return r == EXIT_DONE ? fleet_top_answer(&answer, by) : r;
}
