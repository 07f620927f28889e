// SPDX-License-Identifier: GPL-2.0-only
#include "cli/fleet/fleet-drift.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cli/fleet/fleet-answer.h"
#include "fleet/ask/exact-test.h"
#include "fleet/ask/fact-drift.h"
#include "fleet/ask/label-split.h"

#define WEEK_NS (7 * 86400 * NSEC_PER_SEC)
#define COLUMNS_WITH_LABEL 7
#define COLUMNS_WITHOUT_LABEL 5

static const char *const allowed[] = { "to", "kind", NULL };

struct drift_screen {
	struct fleet_answer *answer;
	const struct fact_drift *drift;
	const struct fact_drift_question *question;
	/* The label is given. */
	bool labelled;
	char inside[64];
	char outside[64];
};

/* Formats "12 of 20". */
static const char *fleet_drift_of(uint64_t count, uint64_t all, char text[48])
{
	snprintf(text, 48, "%llu of %llu", (unsigned long long)count, (unsigned long long)all);
	return text;
}

static void fleet_drift_put_row(const struct drift_screen *screen, const struct drift_fact *fact,
				struct columns *table)
{
	const struct drift_counts *all = &screen->drift->hosts, *hosts = &fact->hosts;
	char text[48], chance[CHANCE_TEXT_SIZE];

	columns_add(table, "%s", fact->name);
	columns_add(table, "%s", fact->value);
	columns_add(table, "%s", fleet_drift_of(hosts->with, all->with, text));
	columns_add(table, "%s", fleet_drift_of(hosts->without, all->without, text));
	if (screen->labelled) {
		columns_add(table, "%s", fleet_drift_of(hosts->inside, all->inside, text));
		columns_add(table, "%s", fleet_drift_of(hosts->outside, all->outside, text));
	}
	columns_add(table, "%s", chance_format(fact->chance, chance));
	columns_end_row(table, NULL);
}

static bool fleet_drift_differs(const struct drift_screen *screen, const struct drift_fact *fact)
{
	char of_label[128];

	/* the label itself divides the hosts, by definition */
	snprintf(of_label, sizeof(of_label), "label/%s", screen->question->label);
	if (screen->labelled && strcmp(fact->name, of_label) == 0)
		return false;
	return fact->chance <= CHANCE_CLEAR ||
	       (screen->labelled && fact->label_chance <= CHANCE_CLEAR);
}

static void fleet_drift_put_table(const struct drift_screen *screen)
{
	const struct columns_column list[] = {
		{ .title = "fact", .yield = COLUMNS_SHRINKS, .turn = 2, .least = 14 },
		{ .title = "value", .yield = COLUMNS_SHRINKS, .turn = 1, .least = 11 },
		{ .title = "with", .right = true },
		{ .title = "without", .right = true },
		{ .title = screen->labelled ? screen->inside : "chance", .right = true },
		{ .title = screen->outside, .right = true },
		{ .title = "chance", .right = true },
	};
	struct columns table = { .list = list,
				 .count = screen->labelled ? COLUMNS_WITH_LABEL
							   : COLUMNS_WITHOUT_LABEL };
	size_t rows = 0;

	for (size_t i = 0; i < screen->drift->facts.count; i++)
		if (fleet_drift_differs(screen, &screen->drift->facts.items[i]) &&
		    rows++ < FLEET_ROWS)
			fleet_drift_put_row(screen, &screen->drift->facts.items[i], &table);
	fleet_answer_put_table(screen->answer, &table, rows);
}

static void fleet_drift_put_first(const struct drift_screen *screen)
{
	const struct drift_counts *all = &screen->drift->hosts, *hosts;
	const struct drift_fact *first = NULL;
	char one[48], two[48], chance[CHANCE_TEXT_SIZE];

	for (size_t i = 0; !first && i < screen->drift->facts.count; i++)
		if (fleet_drift_differs(screen, &screen->drift->facts.items[i]))
			first = &screen->drift->facts.items[i];
	if (!first) {
		fleet_answer_line(
			screen->answer,
			"no fact of hosts with incidents differs from that of other hosts");
		return;
	}
	hosts = &first->hosts;
	fleet_answer_say(screen->answer, "%s is %s on ", first->name, first->value);
	if (first->chance <= CHANCE_CLEAR)
		fleet_answer_line(screen->answer,
				  "%s hosts with incidents, and %s without (chance %s)",
				  fleet_drift_of(hosts->with, all->with, one),
				  fleet_drift_of(hosts->without, all->without, two),
				  chance_format(first->chance, chance));
	else
		fleet_answer_line(screen->answer, "%s hosts with %s=%s, and %s others (chance %s)",
				  fleet_drift_of(hosts->inside, all->inside, one),
				  screen->question->label, screen->question->value,
				  fleet_drift_of(hosts->outside, all->outside, two),
				  chance_format(first->label_chance, chance));
}

static void fleet_drift_put_screen(struct drift_screen *screen)
{
	const struct drift_counts *all = &screen->drift->hosts;

	snprintf(screen->inside, sizeof(screen->inside), "%.16s", screen->question->value);
	snprintf(screen->outside, sizeof(screen->outside), "others");
	fleet_drift_put_first(screen);
	fleet_answer_put_window(screen->answer);
	fleet_answer_line(screen->answer,
			  "%llu host%s with incidents, %llu without; %zu facts with %llu values",
			  (unsigned long long)all->with, plural(all->with),
			  (unsigned long long)all->without, screen->drift->facts.count,
			  (unsigned long long)screen->drift->tries);
	fleet_drift_put_table(screen);
}

static void fleet_drift_put_json(const struct drift_screen *screen)
{
	struct fleet_answer *answer = screen->answer;
	const struct drift_counts *all = &screen->drift->hosts;

	for (size_t i = 0; i < screen->drift->facts.count; i++) {
		const struct drift_fact *fact = &screen->drift->facts.items[i];

		fleet_answer_open_json(answer, "fact");
		fleet_answer_put_json_text(answer, "fact", fact->name);
		fleet_answer_put_json_text(answer, "value", fact->value);
		fleet_answer_put_json_count(answer, "with_incidents", fact->hosts.with);
		fleet_answer_put_json_count(answer, "without", fact->hosts.without);
		fleet_answer_put_json_real(answer, "chance", fact->chance);
		if (screen->labelled) {
			fleet_answer_put_json_count(answer, "inside", fact->hosts.inside);
			fleet_answer_put_json_count(answer, "outside", fact->hosts.outside);
			fleet_answer_put_json_real(answer, "label_chance", fact->label_chance);
		}
		fleet_answer_close_json(answer);
	}
	fleet_answer_open_json(answer, "fleet");
	fleet_answer_put_json_window(answer);
	fleet_answer_put_json_count(answer, "with_incidents", all->with);
	fleet_answer_put_json_count(answer, "without", all->without);
	fleet_answer_put_json_count(answer, "compared", screen->drift->tries);
	if (screen->labelled) {
		fleet_answer_put_json_text(answer, "label", screen->question->label);
		fleet_answer_put_json_text(answer, "value", screen->question->value);
		fleet_answer_put_json_count(answer, "inside", all->inside);
		fleet_answer_put_json_count(answer, "outside", all->outside);
	}
	fleet_answer_close_json(answer);
}

static int fleet_drift_answer(struct fleet_answer *answer)
{
	const char *kind = option_value(answer->invocation, "kind");
	_cleanup_(label_split_done) struct label_split split = { 0 };
	_cleanup_(fact_drift_done) struct fact_drift drift = { 0 };
	struct fact_drift_question question = { .kind = kind ? kind : "",
						.from_ns = answer->window.from_ns,
						.to_ns = answer->window.to_ns };
	struct drift_screen screen = { answer, &drift, &question, answer->label, "", "" };
	struct error error = { 0 };
	int r = fleet_answer_choose_value(answer, question.kind, &split, &question.label,
					  &question.value);

	if (r != EXIT_DONE)
		return r;
	r = fact_drift_ask(answer->server, &question, &drift, &error);
	if (r < 0)
		return fail(r, &error);
	if (!drift.rows.count)
		return fleet_answer_nothing(answer, "the fleet has no host in this window");
	if (answer->json)
		fleet_drift_put_json(&screen);
	else
		fleet_drift_put_screen(&screen);
	return fleet_answer_print(answer);
}

int fleet_drift(const struct invocation *invocation)
{
	_cleanup_(fleet_answer_done) struct fleet_answer answer = { 0 };
	const char *url = option_value(invocation, "fleet");
	int r = url ? fleet_answer_open(invocation, url, allowed, WEEK_NS, &answer)
		    : usage_error("--fleet is missing; name the server, such as https://HOST:8443");

	return r == EXIT_DONE ? fleet_drift_answer(&answer) : r;
}
