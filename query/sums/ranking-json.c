// SPDX-License-Identifier: GPL-2.0-only
#include "base/json.h"
#include "query/sums/ranking.h"

static void put_number(struct buffer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void put_text(struct buffer *json, const char *key, const char *value)
{
	json_key(json, key);
	if (value)
		json_string(json, value);
	else
		json_null(json);
}

/* To a millionth of a CPU. */
static void put_share(struct buffer *json, const char *key, double share)
{
	json_key(json, key);
	json_nano(json, (uint64_t)(share * 1e6 + 0.5) * 1000);
}

static void put_usual_share(struct buffer *json, const char *key, bool compared, double share)
{
	if (compared) {
		put_share(json, key, share);
	} else {
		json_key(json, key);
		json_null(json);
	}
}

static void put_shares(
	struct buffer *json, const char *key, bool known, const struct ranking_share *share)
{
	json_key(json, key);
	if (!known) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	put_share(json, "busy", share->all);
	put_share(json, "user", share->user);
	put_share(json, "kernel", share->kernel);
	put_share(json, "irq", share->irq);
	json_close(json, '}');
}

static void open_row(struct buffer *json, const char *key)
{
	json_open(json, '{');
	json_key(json, key);
	json_open(json, '{');
}

static void close_row(struct buffer *json)
{
	json_close(json, '}');
	json_close(json, '}');
	buffer_text(json, "\n");
}

static void put_stands_out(struct buffer *json, bool stands_out)
{
	json_key(json, "stands_out");
	json_bool(json, stands_out);
}

static void put_core(
	const struct ranking *ranking, const struct ranking_core *core, struct buffer *json)
{
	open_row(json, "core");
	put_number(json, "cpu", core->cpu);
	put_stands_out(json, core->stands_out);
	put_shares(json, "now", true, &core->now);
	put_shares(json, "usual", ranking->cpus_compared, &core->usual);
	put_text(json, "thread", core->group);
	put_share(json, "thread_share", core->group_share);
	put_text(json, "function", core->function);
	close_row(json);
}

static void put_group(
	const struct ranking *ranking, const struct ranking_group *group, struct buffer *json)
{
	open_row(json, "thread");
	put_text(json, "name", group->name);
	put_stands_out(json, group->stands_out);
	put_shares(json, "now", true, &group->now);
	put_shares(json, "usual", ranking->compared, &group->usual);
	put_number(json, "threads", group->threads);
	json_key(json, "busiest");
	json_open(json, '{');
	json_key(json, "pid");
	json_i64(json, group->pid);
	json_key(json, "tid");
	json_i64(json, group->tid);
	put_number(json, "cpu", group->cpu);
	put_share(json, "share", group->thread_share);
	json_close(json, '}');
	close_row(json);
}

static void put_function(
	const struct ranking *ranking, const struct ranking_function *function, struct buffer *json)
{
	open_row(json, "function");
	put_text(json, "name", function->name);
	json_key(json, "kernel");
	json_bool(json, function->kernel);
	put_stands_out(json, function->stands_out);
	put_share(json, "self", function->self);
	put_usual_share(json, "usual_self", ranking->compared, function->usual_self);
	put_share(json, "total", function->total);
	put_usual_share(json, "usual_total", ranking->compared, function->usual_total);
	close_row(json);
}

static void put_baseline(const struct baseline *baseline, struct buffer *json)
{
	open_row(json, "baseline");
	if (baseline->segments) {
		json_time(json, "from", baseline->from_ns);
		json_time(json, "to", baseline->to_ns);
	}
	json_key(json, "own_segments");
	json_bool(json, baseline->rest);
	put_number(json, "segments", baseline->segments);
	put_number(json, "of", baseline->of);
	put_number(json, "unread", baseline->unread);
	put_number(json, "samples", baseline->tally ? baseline->tally->samples : 0);
	close_row(json);
}

void ranking_put_json(
	const struct ranking *ranking, const struct baseline *baseline, struct buffer *json)
{
	open_row(json, "machine");
	put_shares(json, "now", true, &ranking->now);
	put_shares(json, "usual", ranking->compared, &ranking->usual);
	close_row(json);
	for (size_t i = 0; i < ranking->cores.count; i++)
		put_core(ranking, &ranking->cores.items[i], json);
	for (size_t i = 0; i < ranking->groups.count; i++)
		put_group(ranking, &ranking->groups.items[i], json);
	for (size_t i = 0; i < ranking->functions.count; i++)
		put_function(ranking, &ranking->functions.items[i], json);
	put_baseline(baseline, json);
}
