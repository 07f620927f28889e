// SPDX-License-Identifier: GPL-2.0-only
#include "base/json.h"
#include "query/sums/ranking.h"

static void ranking_json_put_number(struct buffer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void ranking_json_put_text(struct buffer *json, const char *key, const char *value)
{
	json_key(json, key);
	if (value)
		json_string(json, value);
	else
		json_null(json);
}

/* Shares have six decimals. */
static void ranking_json_put_share(struct buffer *json, const char *key, double share)
{
	json_key(json, key);
	json_nano(json, (uint64_t)(share * 1e6 + 0.5) * 1000);
}

static void put_usual_share(struct buffer *json, const char *key, bool compared, double share)
{
	if (compared) {
		ranking_json_put_share(json, key, share);
	} else {
		json_key(json, key);
		json_null(json);
	}
}

static void ranking_json_put_shares(struct buffer *json, const char *key, bool known,
				    const struct ranking_share *share)
{
	json_key(json, key);
	if (!known) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	ranking_json_put_share(json, "busy", share->all);
	ranking_json_put_share(json, "user", share->user);
	ranking_json_put_share(json, "kernel", share->kernel);
	ranking_json_put_share(json, "irq", share->irq);
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

static void ranking_json_put_core(const struct ranking *ranking, const struct ranking_core *core,
				  struct buffer *json)
{
	open_row(json, "core");
	ranking_json_put_number(json, "cpu", core->cpu);
	put_stands_out(json, core->stands_out);
	ranking_json_put_shares(json, "now", true, &core->now);
	ranking_json_put_shares(json, "usual", ranking->cpus_compared, &core->usual);
	ranking_json_put_text(json, "thread", core->group);
	ranking_json_put_share(json, "thread_share", core->group_share);
	ranking_json_put_text(json, "function", core->function);
	close_row(json);
}

static const char *const ranking_json_keys[] = {
	[TALLY_BY_NAME] = "thread",   [TALLY_BY_FUNCTION] = "thread", [TALLY_BY_THREAD] = "thread",
	[TALLY_BY_CGROUP] = "cgroup", [TALLY_BY_POD] = "pod",	      [TALLY_BY_PATH] = "path",
};

static void ranking_json_put_group(const struct ranking *ranking, const struct ranking_group *group,
				   struct buffer *json)
{
	open_row(json, ranking_json_keys[ranking->by]);
	ranking_json_put_text(json, "name", group->name);
	put_stands_out(json, group->stands_out);
	ranking_json_put_shares(json, "now", true, &group->now);
	ranking_json_put_shares(json, "usual", ranking->compared, &group->usual);
	ranking_json_put_number(json, "threads", group->threads);
	json_key(json, "busiest");
	json_open(json, '{');
	json_key(json, "pid");
	json_i64(json, group->pid);
	json_key(json, "tid");
	json_i64(json, group->tid);
	ranking_json_put_number(json, "cpu", group->cpu);
	ranking_json_put_share(json, "share", group->thread_share);
	json_close(json, '}');
	close_row(json);
}

static void ranking_json_put_function(const struct ranking *ranking,
				      const struct ranking_function *function, struct buffer *json)
{
	open_row(json, "function");
	ranking_json_put_text(json, "name", function->name);
	json_key(json, "kernel");
	json_bool(json, function->kernel);
	put_stands_out(json, function->stands_out);
	ranking_json_put_share(json, "self", function->self);
	put_usual_share(json, "usual_self", ranking->compared, function->usual_self);
	ranking_json_put_share(json, "total", function->total);
	put_usual_share(json, "usual_total", ranking->compared, function->usual_total);
	close_row(json);
}

static void ranking_json_put_baseline(const struct baseline *baseline, struct buffer *json)
{
	open_row(json, "baseline");
	if (baseline->names_ns) {
		json_time(json, "from", baseline->from_ns);
		json_time(json, "to", baseline->to_ns);
	}
	json_key(json, "own_segments");
	json_bool(json, baseline->rest);
	ranking_json_put_number(json, "segments", baseline->segments);
	ranking_json_put_number(json, "of", baseline->of);
	ranking_json_put_number(json, "unread", baseline->unread);
	ranking_json_put_number(json, "samples", baseline->tally ? baseline->tally->samples : 0);
	close_row(json);
}

void ranking_put_json(const struct ranking *ranking, const struct baseline *baseline,
		      struct buffer *json)
{
	open_row(json, "machine");
	ranking_json_put_shares(json, "now", true, &ranking->now);
	ranking_json_put_shares(json, "usual", ranking->compared, &ranking->usual);
	close_row(json);
	for (size_t i = 0; ranking->by == TALLY_BY_NAME && i < ranking->cores.count; i++)
		ranking_json_put_core(ranking, &ranking->cores.items[i], json);
	for (size_t i = 0; ranking->by != TALLY_BY_FUNCTION && i < ranking->groups.count; i++)
		ranking_json_put_group(ranking, &ranking->groups.items[i], json);
	for (size_t i = 0; tally_by_has_sums(ranking->by) && i < ranking->functions.count; i++)
		ranking_json_put_function(ranking, &ranking->functions.items[i], json);
	ranking_json_put_baseline(baseline, json);
}
