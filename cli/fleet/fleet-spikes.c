// SPDX-License-Identifier: GPL-2.0-only
#include "cli/fleet/fleet-spikes.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/fleet/fleet-answer.h"
#include "fleet/ask/label-split.h"
#include "fleet/ask/saturated-cpus.h"

#define WEEK_NS (7 * 86400 * NSEC_PER_SEC)
#define MIN_NS (2 * NSEC_PER_SEC)

static const char *const allowed[] = { "min", NULL };

static const struct columns_column columns_of_runs[] = {
	{ .title = "time" },
	{ .title = "length", .right = true },
	{ .title = "CPU", .right = true },
	{ .title = "thread", .yield = COLUMNS_SHRINKS, .turn = 2, .least = 10 },
	{ .title = "host", .yield = COLUMNS_SHRINKS, .turn = 1, .least = 16 },
};

static int fleet_spikes_parse_min(const struct invocation *invocation, uint64_t *ret_seconds)
{
	const char *text = option_value(invocation, "min");
	uint64_t ns = MIN_NS;

	if (text && duration_parse(text, &ns) < 0)
		return option_error(invocation, "min", "'%.40s' is not a length, such as 3s", text);
	*ret_seconds = MAX((ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC, 1u);
	return EXIT_DONE;
}

static const char *fleet_spikes_time(const struct fleet_answer *answer, uint64_t seconds,
				     char text[TIME_TEXT_SIZE])
{
	return time_format(seconds * NSEC_PER_SEC, option_given(answer->invocation, "utc"), 0,
			   text);
}

static uint64_t fleet_spikes_hosts(const struct saturated_cpus *cpus)
{
	/* rows of one host stand together, and hosts with a run are few beside them */
	struct strings names = { 0 };
	uint32_t id;
	uint64_t count;

	for (size_t i = 0; i < cpus->list.count; i++)
		if (strings_add(&names, cpus->list.items[i].host, strlen(cpus->list.items[i].host),
				&id) < 0)
			break;
	count = names.starts.count ? strings_count(&names) - 1 : 0;
	strings_done(&names);
	return count;
}

static void fleet_spikes_put_screen(struct fleet_answer *answer, const struct saturated_cpus *cpus)
{
	struct columns table = { .list = columns_of_runs, .count = ARRAY_SIZE(columns_of_runs) };
	const struct saturated_run *first = cpus->list.items;
	uint64_t hosts = fleet_spikes_hosts(cpus);
	char time[TIME_TEXT_SIZE], length[64];

	if (cpus->list.count)
		fleet_answer_line(
			answer,
			"%zu full CPU%s on %llu host%s; longest: %llu s on %s, CPU %llu, %s",
			cpus->list.count, plural(cpus->list.count), (unsigned long long)hosts,
			plural(hosts), (unsigned long long)first->seconds, first->host,
			(unsigned long long)first->cpu, first->comm);
	else
		fleet_answer_line(answer, "no full CPU in the samples that the fleet holds");
	fleet_answer_put_window(answer);
	duration_format(cpus->held_s * NSEC_PER_SEC, length, sizeof(length));
	fleet_answer_say(answer, "Samples of %llu host%s, %s together; ",
			 (unsigned long long)cpus->hosts, plural(cpus->hosts), length);
	fleet_answer_line(answer, "the fleet holds only sums of all other time, without CPUs");
	for (size_t i = 0; i < MIN(cpus->list.count, (size_t)FLEET_ROWS); i++) {
		const struct saturated_run *run = &cpus->list.items[i];

		columns_add(&table, "%s", fleet_spikes_time(answer, run->from_s, time));
		columns_add(&table, "%llu s", (unsigned long long)run->seconds);
		columns_add(&table, "%llu", (unsigned long long)run->cpu);
		columns_add(&table, "%s", run->comm);
		columns_add(&table, "%s", run->host);
		columns_end_row(&table, NULL);
	}
	fleet_answer_put_table(answer, &table, cpus->list.count);
}

static void fleet_spikes_put_json(struct fleet_answer *answer, const struct saturated_cpus *cpus)
{
	for (size_t i = 0; i < cpus->list.count; i++) {
		const struct saturated_run *run = &cpus->list.items[i];

		fleet_answer_open_json(answer, "spike");
		fleet_answer_put_json_text(answer, "host", run->host);
		fleet_answer_put_json_count(answer, "cpu", run->cpu);
		json_time(&answer->text, "time", run->from_s * NSEC_PER_SEC);
		fleet_answer_put_json_count(answer, "seconds", run->seconds);
		fleet_answer_put_json_text(answer, "comm", run->comm);
		fleet_answer_close_json(answer);
	}
	fleet_answer_open_json(answer, "fleet");
	fleet_answer_put_json_window(answer);
	fleet_answer_put_json_count(answer, "spikes", cpus->list.count);
	fleet_answer_put_json_count(answer, "hosts_with_samples", cpus->hosts);
	fleet_answer_put_json_count(answer, "held_s", cpus->held_s);
	fleet_answer_close_json(answer);
}

static int fleet_spikes_answer(struct fleet_answer *answer, uint64_t min_s)
{
	_cleanup_(label_split_done) struct label_split split = { 0 };
	_cleanup_(saturated_cpus_done) struct saturated_cpus cpus = { 0 };
	struct saturated_question question = { .from_ns = answer->window.from_ns,
					       .to_ns = answer->window.to_ns,
					       .min_s = min_s };
	struct error error = { 0 };
	int r = fleet_answer_choose_value(answer, "", &split, &question.label, &question.value);

	if (r != EXIT_DONE)
		return r;
	r = saturated_cpus_ask(answer->server, &question, &cpus, &error);
	if (r < 0)
		return fail(r, &error);
	if (!cpus.hosts)
		return fleet_answer_nothing(
			answer, "the fleet has no samples in this window; it may have sums");
	if (answer->json)
		fleet_spikes_put_json(answer, &cpus);
	else
		fleet_spikes_put_screen(answer, &cpus);
	return fleet_answer_print(answer);
}

int fleet_spikes(const struct invocation *invocation)
{
	_cleanup_(fleet_answer_done) struct fleet_answer answer = { 0 };
	uint64_t min_s = 0;
	int r = fleet_spikes_parse_min(invocation, &min_s);

	if (r == EXIT_DONE)
		r = fleet_answer_open(invocation, option_value(invocation, "fleet"), allowed,
				      WEEK_NS, &answer);
	return r == EXIT_DONE ? fleet_spikes_answer(&answer, min_s) : r;
}
