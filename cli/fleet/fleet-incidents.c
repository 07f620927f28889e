// SPDX-License-Identifier: GPL-2.0-only
#include "cli/fleet/fleet-incidents.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include "cli/fleet/fleet-answer.h"
#include "fleet/ask/exact-test.h"
#include "fleet/ask/label-split.h"

#define WEEK_NS (7 * 86400 * NSEC_PER_SEC)
#define NAMED_HOSTS 3
#define RATE_TEXT_SIZE 32

static const char *const allowed[] = { "kind", NULL };

static const struct columns_column columns_of_values[] = {
	{ .title = "value", .yield = COLUMNS_SHRINKS, .turn = 1, .least = 12 },
	{ .title = "hosts", .right = true },
	{ .title = "with", .right = true },
	{ .title = "host-days", .right = true, .yield = COLUMNS_LEAVES, .turn = 2 },
	{ .title = "incidents", .right = true },
	{ .title = "per host-day", .right = true },
	{ .title = "others", .right = true },
	{ .title = "chance", .right = true },
};

/* Formats a rate with three digits: "12.3", "0.0123". */
static const char *fleet_incidents_rate(double rate, char text[RATE_TEXT_SIZE])
{
	snprintf(text, RATE_TEXT_SIZE, "%.3g", rate);
	return text;
}

/* Says how the value of a label differs from all others. */
static void fleet_incidents_put_best(struct fleet_answer *answer, const struct label_split *split,
				     const struct label_value *best)
{
	char rate[RATE_TEXT_SIZE], others[RATE_TEXT_SIZE], chance[CHANCE_TEXT_SIZE];

	if (!best || best->chance > CHANCE_CLEAR) {
		fleet_incidents_rate(split->days > 0 ? (double)split->incidents / split->days : 0,
				     rate);
		fleet_answer_say(answer, "%llu incident%s on %llu of %zu hosts, %s per host-day; ",
				 (unsigned long long)split->incidents, plural(split->incidents),
				 (unsigned long long)split->with_incidents, split->hosts.count,
				 rate);
		fleet_answer_line(answer, "%s%s separates them from others by more than chance",
				  answer->label ? "no value of " : "no label",
				  answer->label ? answer->label : "");
		return;
	}
	fleet_answer_line(
		answer, "%s=%s has %llu of %llu incidents: %s per host-day, others %s (chance %s)",
		best->label, best->value, (unsigned long long)best->incidents,
		(unsigned long long)split->incidents, fleet_incidents_rate(best->rate, rate),
		fleet_incidents_rate(best->others_rate, others),
		chance_format(best->chance, chance));
}

static void fleet_incidents_put_values(struct fleet_answer *answer, const struct label_split *split,
				       const char *label)
{
	struct columns table = { .list = columns_of_values,
				 .count = ARRAY_SIZE(columns_of_values) };
	size_t rows = 0;

	fleet_answer_line(answer, "By %s:", label);
	for (size_t i = 0; i < split->values.count; i++) {
		const struct label_value *value = &split->values.items[i];
		char text[CHANCE_TEXT_SIZE], rate[RATE_TEXT_SIZE];

		if (strcmp(value->label, label) != 0 || rows++ >= FLEET_ROWS)
			continue;
		columns_add(&table, "%s", value->value);
		columns_add(&table, "%llu", (unsigned long long)value->hosts);
		columns_add(&table, "%llu", (unsigned long long)value->with_incidents);
		columns_add(&table, "%.1f", value->days);
		columns_add(&table, "%llu", (unsigned long long)value->incidents);
		columns_add(&table, "%s", fleet_incidents_rate(value->rate, rate));
		columns_add(&table, "%s", fleet_incidents_rate(value->others_rate, rate));
		columns_add(&table, "%s", chance_format(value->chance, text));
		columns_end_row(&table, NULL);
	}
	fleet_answer_put_table(answer, &table, rows);
}

/* Names the other labels with a value that chance does not explain. */
static void fleet_incidents_put_others(struct fleet_answer *answer, const struct label_split *split,
				       const char *shown)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	const char *last = shown;

	for (size_t i = 0; i < split->values.count; i++) {
		const char *label = split->values.items[i].label;
		const struct label_value *best;
		char chance[CHANCE_TEXT_SIZE];

		if (strcmp(label, shown) == 0 || strcmp(label, last) == 0)
			continue;
		last = label;
		best = label_split_best(split, label);
		if (best->chance <= CHANCE_CLEAR)
			buffer_printf(&text, "%s%s=%s (%s)", text.size ? ", " : "", label,
				      best->value, chance_format(best->chance, chance));
	}
	if (text.size)
		fleet_answer_line(answer, "Also: %s", buffer_shown(&text));
}

static void fleet_incidents_put_hosts(struct fleet_answer *answer, const struct label_split *split)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	uint64_t unknown = 0;

	for (size_t i = 0; i < split->hosts.count; i++) {
		const struct label_host *host = &split->hosts.items[i];

		unknown += host->incidents && host->days <= 0;
		if (i < NAMED_HOSTS && host->incidents)
			buffer_printf(&text, "%s%s (%llu)", i ? ", " : "", host->name,
				      (unsigned long long)host->incidents);
	}
	fleet_answer_line(answer, "Most: %s", buffer_shown(&text));
	if (unknown)
		fleet_answer_line(answer, "%llu host%s with incidents shipped no labels",
				  (unsigned long long)unknown, plural(unknown));
}

static void fleet_incidents_put_screen(struct fleet_answer *answer, const struct label_split *split)
{
	const struct label_value *best = label_split_best(split, answer->label);
	const char *label = answer->label ? answer->label : best ? best->label : NULL;

	fleet_incidents_put_best(answer, split, best);
	fleet_answer_put_window(answer);
	if (label && best) {
		fleet_incidents_put_values(answer, split, label);
		fleet_incidents_put_others(answer, split, label);
	} else if (label) {
		fleet_answer_line(answer, "No host has a label %s", label);
	}
	fleet_incidents_put_hosts(answer, split);
}

static void fleet_incidents_put_json(struct fleet_answer *answer, const struct label_split *split)
{
	for (size_t i = 0; i < split->values.count; i++) {
		const struct label_value *value = &split->values.items[i];

		if (answer->label && strcmp(value->label, answer->label) != 0)
			continue;
		fleet_answer_open_json(answer, "value");
		fleet_answer_put_json_text(answer, "label", value->label);
		fleet_answer_put_json_text(answer, "value", value->value);
		fleet_answer_put_json_count(answer, "hosts", value->hosts);
		fleet_answer_put_json_count(answer, "with_incidents", value->with_incidents);
		fleet_answer_put_json_count(answer, "struck", value->struck);
		fleet_answer_put_json_real(answer, "host_days", value->days);
		fleet_answer_put_json_count(answer, "incidents", value->incidents);
		fleet_answer_put_json_real(answer, "rate", value->rate);
		fleet_answer_put_json_real(answer, "others_rate", value->others_rate);
		fleet_answer_put_json_real(answer, "chance", value->chance);
		fleet_answer_close_json(answer);
	}
	for (size_t i = 0; i < split->hosts.count && split->hosts.items[i].incidents; i++) {
		fleet_answer_open_json(answer, "host");
		fleet_answer_put_json_text(answer, "host", split->hosts.items[i].name);
		fleet_answer_put_json_count(answer, "incidents", split->hosts.items[i].incidents);
		fleet_answer_put_json_count(answer, "lines", split->hosts.items[i].lines);
		fleet_answer_put_json_real(answer, "host_days", split->hosts.items[i].days);
		fleet_answer_close_json(answer);
	}
	fleet_answer_open_json(answer, "fleet");
	fleet_answer_put_json_window(answer);
	fleet_answer_put_json_count(answer, "hosts", split->hosts.count);
	fleet_answer_put_json_count(answer, "with_incidents", split->with_incidents);
	fleet_answer_put_json_count(answer, "incidents", split->incidents);
	fleet_answer_put_json_real(answer, "host_days", split->days);
	fleet_answer_put_json_count(answer, "compared", split->tries);
	fleet_answer_close_json(answer);
}

static int fleet_incidents_answer(struct fleet_answer *answer)
{
	const char *kind = option_value(answer->invocation, "kind");
	_cleanup_(label_split_done) struct label_split split = { 0 };
	struct error error = { 0 };
	int r = label_split_ask(answer->server, kind ? kind : "", answer->window.from_ns,
				answer->window.to_ns, &split, &error);

	if (r < 0)
		return fail(r, &error);
	if (!split.hosts.count)
		return fleet_answer_nothing(answer, "the fleet has no host in this window");
	if (answer->json)
		fleet_incidents_put_json(answer, &split);
	else if (!split.incidents)
		fleet_answer_line(answer,
				  "no incident on %zu host%s of the fleet, in %.1f host-days",
				  split.hosts.count, plural(split.hosts.count), split.days);
	else
		fleet_incidents_put_screen(answer, &split);
	return fleet_answer_print(answer);
}

int fleet_incidents(const struct invocation *invocation)
{
	_cleanup_(fleet_answer_done) struct fleet_answer answer = { 0 };
	int r = fleet_answer_open(invocation, option_value(invocation, "fleet"), allowed, WEEK_NS,
				  &answer);

	return r == EXIT_DONE ? fleet_incidents_answer(&answer) : r;
}
