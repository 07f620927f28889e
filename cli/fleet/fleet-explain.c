// SPDX-License-Identifier: GPL-2.0-only
#include "cli/fleet/fleet-explain.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "base/foreign.h"
#include "cli/fleet/fleet-answer.h"
#include "fleet/ask/exact-test.h"
#include "fleet/ask/incident-traits.h"
#include "fleet/ask/label-split.h"

#define WEEK_NS (7 * 86400 * NSEC_PER_SEC)

static const char *const allowed[] = { "all", "kind", NULL };

static const struct columns_column columns_of_traits[] = {
	{ .title = "thread or function", .yield = COLUMNS_SHRINKS, .turn = 1, .least = 18 },
	{ .title = "last 5 s", .right = true },
	{ .title = "before", .right = true },
	{ .title = "chance", .right = true },
	{ .title = "last min", .right = true, .yield = COLUMNS_LEAVES, .turn = 2 },
	{ .title = "before", .right = true, .yield = COLUMNS_LEAVES, .turn = 2 },
	{ .title = "chance", .right = true, .yield = COLUMNS_LEAVES, .turn = 2 },
};

static const char *const scale_words[TRAIT_SCALES] = {
	[TRAIT_SECONDS] = "in the 5 s before",
	[TRAIT_MINUTES] = "in the minute before",
};

static enum trait_scale fleet_explain_scale(const struct incident_trait *trait)
{
	return trait->scales[TRAIT_MINUTES].chance < trait->scales[TRAIT_SECONDS].chance
		       ? TRAIT_MINUTES
		       : TRAIT_SECONDS;
}

static void fleet_explain_put_first(struct fleet_answer *answer,
				    const struct incident_traits *traits)
{
	const struct incident_trait *first = traits->list.count ? traits->list.items : NULL;
	enum trait_scale scale = first ? fleet_explain_scale(first) : TRAIT_SECONDS;
	char now[SHARE_TEXT_SIZE], usual[SHARE_TEXT_SIZE], chance[CHANCE_TEXT_SIZE];

	if (!first || first->chance > CHANCE_CLEAR) {
		fleet_answer_line(
			answer,
			"no thread and no function comes before incidents by more than chance");
		return;
	}
	fleet_answer_line(answer,
			  "%s%s%s is highest %s %llu of %llu incidents: %s, else %s (chance %s)",
			  first->thread ? "thread " : "", first->name, first->thread ? "" : "()",
			  scale_words[scale], (unsigned long long)first->scales[scale].incidents,
			  (unsigned long long)traits->compared[scale],
			  share_format(first->scales[scale].share, now),
			  share_format(first->scales[scale].usual, usual),
			  chance_format(first->chance, chance));
}

/* Says how many incidents are compared, and why others are not. */
static void fleet_explain_put_basis(struct fleet_answer *answer, const struct label_split *split,
				    const struct incident_traits *traits)
{
	uint64_t seconds = traits->compared[TRAIT_SECONDS];

	fleet_answer_say(answer, "%llu incident%s on %llu of %zu hosts; ",
			 (unsigned long long)split->incidents, plural(split->incidents),
			 (unsigned long long)split->with_incidents, split->hosts.count);
	fleet_answer_say(answer, "%llu with samples (the last 5 s against 30 to 10 s before), ",
			 (unsigned long long)seconds);
	fleet_answer_line(answer, "%llu with sums of the minutes 1 and 11 to 41 min before",
			  (unsigned long long)traits->compared[TRAIT_MINUTES]);
	if (seconds < split->incidents && split->incidents <= TRAITS_INCIDENTS_MAX)
		fleet_answer_line(
			answer, "The fleet holds only sums, or not all samples, of %llu incident%s",
			(unsigned long long)(split->incidents - seconds),
			plural(split->incidents - seconds));
	if (split->incidents > TRAITS_INCIDENTS_MAX)
		fleet_answer_line(answer, "Only the latest %d incidents are compared",
				  TRAITS_INCIDENTS_MAX);
}

static void fleet_explain_put_measure(struct columns *table, const struct incident_traits *traits,
				      const struct incident_trait *trait, enum trait_scale scale)
{
	const struct trait_measure *measure = &trait->scales[scale];
	char text[SHARE_TEXT_SIZE], chance[CHANCE_TEXT_SIZE];
	bool known = traits->compared[scale] > 0;

	columns_add(table, "%s", known ? share_format(measure->share, text) : "-");
	columns_add(table, "%s", known ? share_format(measure->usual, text) : "-");
	columns_add(table, "%s", known ? chance_format(measure->chance, chance) : "-");
}

static void fleet_explain_put_table(struct fleet_answer *answer,
				    const struct incident_traits *traits)
{
	struct columns table = { .list = columns_of_traits,
				 .count = ARRAY_SIZE(columns_of_traits) };
	size_t rows = 0;

	for (size_t i = 0; i < traits->list.count; i++) {
		const struct incident_trait *trait = &traits->list.items[i];

		if (trait->chance > CHANCE_CLEAR)
			break;
		if (rows++ >= FLEET_ROWS)
			continue;
		columns_add(&table, "%s%s%s", trait->thread ? "thread " : "", trait->name,
			    trait->thread ? "" : "()");
		fleet_explain_put_measure(&table, traits, trait, TRAIT_SECONDS);
		fleet_explain_put_measure(&table, traits, trait, TRAIT_MINUTES);
		columns_end_row(&table, NULL);
	}
	fleet_answer_put_table(answer, &table, rows);
}

/* Names an incident to look at. */
static void fleet_explain_put_example(struct fleet_answer *answer,
				      const struct incident_traits *traits)
{
	const struct trait_measure *measure;
	char at[TIME_TEXT_SIZE], host[FOREIGN_WORD_SIZE];

	if (!traits->list.count || traits->list.items[0].chance > CHANCE_CLEAR)
		return;
	measure = &traits->list.items[0].scales[fleet_explain_scale(traits->list.items)];
	fleet_answer_line(answer, "Most on %s at %s: perftape query --fleet URL --host %s --at %s",
			  measure->host,
			  time_format(measure->at_us * NSEC_PER_USEC,
				      option_given(answer->invocation, "utc"), 0, at),
			  foreign_shell_word(measure->host, host), at);
}

static void fleet_explain_put_json_measure(struct fleet_answer *answer, const char *name,
					   const struct trait_measure *measure)
{
	json_key(&answer->text, name);
	json_open(&answer->text, '{');
	fleet_answer_put_json_count(answer, "incidents", measure->incidents);
	fleet_answer_put_json_real(answer, "share", measure->share);
	fleet_answer_put_json_real(answer, "usual", measure->usual);
	fleet_answer_put_json_real(answer, "chance", measure->chance);
	fleet_answer_put_json_text(answer, "host", measure->host);
	json_time_or_null(&answer->text, "at", measure->at_us * NSEC_PER_USEC);
	json_close(&answer->text, '}');
}

static void fleet_explain_put_json(struct fleet_answer *answer, const struct label_split *split,
				   const struct incident_traits *traits)
{
	for (size_t i = 0; i < traits->list.count; i++) {
		const struct incident_trait *trait = &traits->list.items[i];

		fleet_answer_open_json(answer, trait->thread ? "thread" : "function");
		fleet_answer_put_json_text(answer, "name", trait->name);
		fleet_answer_put_json_real(answer, "chance", trait->chance);
		fleet_explain_put_json_measure(answer, "seconds", &trait->scales[TRAIT_SECONDS]);
		fleet_explain_put_json_measure(answer, "minutes", &trait->scales[TRAIT_MINUTES]);
		fleet_answer_close_json(answer);
	}
	fleet_answer_open_json(answer, "fleet");
	fleet_answer_put_json_window(answer);
	fleet_answer_put_json_count(answer, "hosts", split->hosts.count);
	fleet_answer_put_json_count(answer, "with_incidents", split->with_incidents);
	fleet_answer_put_json_count(answer, "incidents", split->incidents);
	fleet_answer_put_json_count(answer, "with_samples", traits->compared[TRAIT_SECONDS]);
	fleet_answer_put_json_count(answer, "with_sums", traits->compared[TRAIT_MINUTES]);
	fleet_answer_put_json_count(answer, "compared", traits->tries);
	fleet_answer_close_json(answer);
}

static int fleet_explain_answer(struct fleet_answer *answer)
{
	const char *kind = option_value(answer->invocation, "kind");
	_cleanup_(label_split_done) struct label_split split = { 0 };
	_cleanup_(incident_traits_done) struct incident_traits traits = { 0 };
	uint64_t from_ns = answer->window.from_ns, to_ns = answer->window.to_ns;
	struct error error = { 0 };
	int r;

	kind = kind ? kind : "";
	r = label_split_ask(answer->server, kind, from_ns, to_ns, &split, &error);
	if (r < 0)
		return fail(r, &error);
	if (!split.incidents)
		return fleet_answer_nothing(answer, "the fleet has no incident in this window");
	r = incident_traits_ask(answer->server, kind, from_ns, to_ns, &traits, &error);
	if (r < 0)
		return fail(r, &error);
	if (answer->json) {
		fleet_explain_put_json(answer, &split, &traits);
		return fleet_answer_print(answer);
	}
	fleet_explain_put_first(answer, &traits);
	fleet_answer_put_window(answer);
	fleet_explain_put_basis(answer, &split, &traits);
	fleet_explain_put_table(answer, &traits);
	fleet_explain_put_example(answer, &traits);
	return fleet_answer_print(answer);
}

int fleet_explain(const struct invocation *invocation)
{
	_cleanup_(fleet_answer_done) struct fleet_answer answer = { 0 };
	int r;

	if (!option_given(invocation, "all"))
		return usage_error(
			"--fleet goes with --all; query --fleet shows a single incident");
	r = fleet_answer_open(invocation, option_value(invocation, "fleet"), allowed, WEEK_NS,
			      &answer);
	return r == EXIT_DONE ? fleet_explain_answer(&answer) : r;
}
