// SPDX-License-Identifier: GPL-2.0-only
#include "cli/fleet/fleet-diff.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cli/fleet/fleet-answer.h"
#include "fleet/ask/exact-test.h"
#include "fleet/ask/label-split.h"
#include "fleet/ask/name-shares.h"

/* Sums of a longer time take the server long; a window allows it. */
#define DIFF_NS (600 * NSEC_PER_SEC)

static const char *const allowed[] = { NULL };

static void fleet_diff_put_first(struct fleet_answer *answer, const struct name_question *question,
				 const struct name_diff *diff)
{
	const struct name_diff_row *first = diff->list.count ? diff->list.items : NULL;
	char inside[SHARE_TEXT_SIZE], outside[SHARE_TEXT_SIZE], chance[CHANCE_TEXT_SIZE];

	if (!first || first->chance > CHANCE_CLEAR)
		fleet_answer_line(answer, "%s=%s and other hosts do not differ by more than chance",
				  question->label, question->value);
	else
		fleet_answer_line(
			answer, "%s%s%s takes %s with %s=%s, and %s on other hosts (chance %s)",
			first->thread ? "thread " : "", first->name, first->thread ? "" : "()",
			share_format(first->inside, inside), question->label, question->value,
			share_format(first->outside, outside),
			chance_format(first->chance, chance));
}

static void fleet_diff_put_row(struct columns *table, const struct name_diff *diff,
			       const struct name_diff_row *row)
{
	double change = row->inside - row->outside;
	char text[CHANCE_TEXT_SIZE], share[SHARE_TEXT_SIZE];

	columns_add(table, "%+.1f", change * 100);
	columns_add(table, "%s", share_format(row->inside, share));
	columns_add(table, "%s", share_format(row->outside, share));
	columns_add(table, "%llu of %llu", (unsigned long long)row->inside_above,
		    (unsigned long long)diff->inside_hosts);
	columns_add(table, "%llu of %llu", (unsigned long long)row->outside_above,
		    (unsigned long long)diff->outside_hosts);
	columns_add(table, "%s", chance_format(row->chance, text));
	columns_add(table, "%s%s%s", row->thread ? "thread " : "", row->name,
		    row->thread ? "" : "()");
	columns_end_row(table, NULL);
}

static void fleet_diff_put_screen(struct fleet_answer *answer, const struct name_question *question,
				  const struct name_diff *diff)
{
	const struct columns_column list[] = {
		{ .title = "change", .right = true },
		{ .title = question->value, .right = true },
		{ .title = "others", .right = true },
		{ .title = "above", .right = true, .yield = COLUMNS_LEAVES, .turn = 2 },
		{ .title = "above", .right = true, .yield = COLUMNS_LEAVES, .turn = 2 },
		{ .title = "chance", .right = true },
		{ .title = "thread or function", .yield = COLUMNS_SHRINKS, .turn = 1, .least = 16 },
	};
	struct columns table = { .list = list, .count = ARRAY_SIZE(list) };

	fleet_diff_put_first(answer, question, diff);
	fleet_answer_put_window(answer);
	fleet_answer_say(answer, "%llu host%s with %s=%s, %llu others; ",
			 (unsigned long long)diff->inside_hosts, plural(diff->inside_hosts),
			 question->label, question->value, (unsigned long long)diff->outside_hosts);
	fleet_answer_line(answer,
			  "shares of all samples, by sums of minutes, of the heaviest stacks");
	for (size_t i = 0; i < MIN(diff->list.count, (size_t)FLEET_ROWS); i++)
		fleet_diff_put_row(&table, diff, &diff->list.items[i]);
	fleet_answer_put_table(answer, &table, diff->list.count);
}

static void fleet_diff_put_json(struct fleet_answer *answer, const struct name_question *question,
				const struct name_diff *diff)
{
	for (size_t i = 0; i < diff->list.count; i++) {
		const struct name_diff_row *row = &diff->list.items[i];

		fleet_answer_open_json(answer, row->thread ? "thread" : "function");
		fleet_answer_put_json_text(answer, "name", row->name);
		fleet_answer_put_json_real(answer, "inside", row->inside);
		fleet_answer_put_json_real(answer, "outside", row->outside);
		fleet_answer_put_json_count(answer, "inside_above", row->inside_above);
		fleet_answer_put_json_count(answer, "outside_above", row->outside_above);
		fleet_answer_put_json_real(answer, "chance", row->chance);
		fleet_answer_close_json(answer);
	}
	fleet_answer_open_json(answer, "fleet");
	fleet_answer_put_json_window(answer);
	fleet_answer_put_json_text(answer, "label", question->label);
	fleet_answer_put_json_text(answer, "value", question->value);
	fleet_answer_put_json_count(answer, "inside_hosts", diff->inside_hosts);
	fleet_answer_put_json_count(answer, "outside_hosts", diff->outside_hosts);
	fleet_answer_put_json_count(answer, "compared", diff->tries);
	fleet_answer_close_json(answer);
}

static int fleet_diff_answer(struct fleet_answer *answer)
{
	_cleanup_(label_split_done) struct label_split split = { 0 };
	_cleanup_(name_diff_done) struct name_diff diff = { 0 };
	struct name_question question = { .from_ns = answer->window.from_ns,
					  .to_ns = answer->window.to_ns };
	struct error error = { 0 };
	int r = fleet_answer_choose_value(answer, "", &split, &question.label, &question.value);

	if (r != EXIT_DONE)
		return r;
	r = name_diff_ask(answer->server, &question, &diff, &error);
	if (r < 0)
		return fail(r, &error);
	if (!diff.inside_hosts || !diff.outside_hosts)
		return fleet_answer_nothing(
			answer,
			diff.outside_hosts
				? "the fleet has no sums of hosts with this label in this window"
				: "the fleet has no sums of other hosts in this window");
	if (answer->json)
		fleet_diff_put_json(answer, &question, &diff);
	else
		fleet_diff_put_screen(answer, &question, &diff);
	return fleet_answer_print(answer);
}

int fleet_diff(const struct invocation *invocation)
{
	_cleanup_(fleet_answer_done) struct fleet_answer answer = { 0 };
	int r;

	if (!option_given(invocation, "label"))
		return usage_error("--fleet needs --label, such as zone=az3: the hosts to compare");
	r = fleet_answer_open(invocation, option_value(invocation, "fleet"), allowed, DIFF_NS,
			      &answer);
	return r == EXIT_DONE ? fleet_diff_answer(&answer) : r;
}
