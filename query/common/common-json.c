// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "base/json.h"
#include "query/common/common.h"

/* json_nano() has room for numbers up to this one. */
#define NANO_MOST 1e9

static void common_json_number(struct buffer *json, const char *key, double value)
{
	json_key(json, key);
	if (isnan(value))
		json_null(json);
	else if (fabs(value) >= NANO_MOST)
		json_i64(json, llround(value));
	else
		json_signed_nano(json, llround(value * 1e5) * 10000);
}

static void common_json_count(struct buffer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void common_json_text(struct buffer *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}

static void common_json_row(struct buffer *json, const struct common_answer *answer,
			    const struct common_row *row)
{
	json_open(json, '{');
	common_json_text(json, "kind", common_kind_name(row->kind));
	common_json_text(json, "name", common_name(answer, row->name));
	common_json_number(json, "level", row->level);
	common_json_text(json, "direction", row->below ? "low" : "high");
	common_json_count(json, "incidents", row->cases);
	common_json_count(json, "controls", row->controls);
	common_json_number(json, "incident_median", row->now);
	common_json_number(json, "control_median", row->usual);
	common_json_number(json, "score", row->score);
	common_json_number(json, "p", row->p);
	json_close(json, '}');
}

static void common_json_trait(struct buffer *json, const struct common_answer *answer,
			      const struct common_trait *trait)
{
	json_open(json, '{');
	json_key(json, "lead");
	common_json_row(json, answer, &trait->lead);
	common_json_count(json, "of_incidents", trait->of_cases);
	common_json_count(json, "of_controls", trait->of_controls);
	json_key(json, "same_incidents");
	json_open(json, '[');
	for (size_t i = 0; i < trait->companion_count; i++)
		common_json_row(json, answer, &trait->companions[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void common_json_pattern(struct buffer *json, const struct common_answer *answer,
				enum common_pattern_kind kind)
{
	const struct common_pattern *pattern = &answer->patterns[kind];

	json_key(json, common_pattern_name(kind));
	if (!pattern->tested) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	common_json_count(json, "incidents", pattern->cases);
	common_json_count(json, "of", pattern->of);
	common_json_number(json, "p", pattern->p);
	json_key(json, "stands_out");
	json_bool(json, common_pattern_stands(pattern));
	if (kind == COMMON_OF_HOST)
		common_json_text(json, "value", common_name(answer, pattern->name));
	else if (kind < COMMON_OF_UPTIME)
		common_json_count(json, "value", pattern->number);
	if (kind >= COMMON_OF_UPTIME) {
		common_json_number(json, "quartile_s", pattern->low);
		common_json_number(json, "median_s", pattern->middle);
		common_json_number(json, "upper_quartile_s", pattern->high);
	}
	json_close(json, '}');
}

static void common_json_sign(struct buffer *json, const struct common_answer *answer,
			     const struct common_sign *sign)
{
	json_open(json, '{');
	common_json_text(json, "kind", sign->gauge ? "gauge" : "full_cpu");
	common_json_text(json, "gauge", common_name(answer, sign->gauge));
	common_json_number(json, "level", sign->gauge ? sign->level : NAN);
	common_json_text(json, "direction", sign->below ? "low" : "high");
	common_json_count(json, "incidents", sign->cases);
	common_json_count(json, "of_incidents", sign->of_cases);
	common_json_count(json, "controls", sign->controls);
	common_json_count(json, "of_controls", sign->of_controls);
	common_json_count(json, "before_ns", sign->before_ns);
	common_json_count(json, "least_before_ns", sign->least_ns);
	json_key(json, "at_least");
	json_bool(json, sign->at_least);
	common_json_number(json, "in_vain", sign->vain);
	json_close(json, '}');
}

static void common_json_case(struct buffer *json, const struct common_answer *answer,
			     const struct common_store *stores, const struct common_case *of)
{
	char command[4200];

	json_open(json, '{');
	common_json_count(json, "id", of->id);
	common_json_text(json, "store", stores[of->store].path);
	common_json_text(json, "host", common_name(answer, answer->hosts.items[of->host]));
	common_json_text(json, "kind", common_name(answer, of->kind));
	common_json_text(json, "device", common_name(answer, of->device));
	json_key(json, "queue");
	of->has_queue ? json_u64(json, of->queue) : json_null(json);
	json_time(json, "from", of->stall_from_ns);
	json_time(json, "to", of->stall_to_ns);
	json_key(json, "read");
	json_bool(json, of->read);
	json_key(json, "full_cpu");
	of->read && of->full_cpu != UINT32_MAX ? json_u64(json, of->full_cpu) : json_null(json);
	common_json_number(json, "uptime_s", of->uptime_s > 0 ? of->uptime_s : NAN);
	common_json_number(json, "load", of->read ? of->load : NAN);
	common_json_count(json, "trait", of->trait);
	common_command(of, stores, command, sizeof(command));
	common_json_text(json, "explain", command);
	json_close(json, '}');
}

static void common_json_study(struct buffer *json, const struct common_answer *answer)
{
	common_json_count(json, "incidents", answer->cases.count);
	common_json_count(json, "older_incidents", answer->older);
	common_json_count(json, "hosts", answer->hosts.count);
	json_key(json, "host_names");
	json_open(json, '[');
	for (size_t i = 0; i < answer->hosts.count; i++)
		json_string(json, common_name(answer, answer->hosts.items[i]));
	json_close(json, ']');
	common_json_count(json, "compared", answer->compared);
	common_json_count(json, "not_recorded", answer->unread);
	common_json_count(json, "not_read_in_time", answer->late);
	common_json_count(json, "damaged_segments", answer->damaged);
	common_json_count(json, "controls", answer->controls);
	common_json_count(json, "apart_ns", answer->apart_ns);
	common_json_count(json, "time_of_day_apart_ns", answer->time_of_day_ns);
	common_json_number(json, "load_apart", answer->load_apart);
	json_time_or_null(json, "from", answer->from_ns);
	json_time_or_null(json, "to", answer->to_ns);
	common_json_count(json, "recorded_ns", answer->recorded_ns);
	common_json_count(json, "rows", answer->rows);
	common_json_number(json, "lowest_p", answer->lowest_p);
	json_key(json, "limited");
	json_bool(json, answer->limited);
}

void common_put_json(const struct common_answer *answer, const struct common_store *stores,
		     struct buffer *json)
{
	json_open(json, '{');
	common_json_study(json, answer);
	json_key(json, "traits");
	json_open(json, '[');
	for (size_t i = 0; i < answer->trait_count; i++)
		common_json_trait(json, answer, &answer->traits[i]);
	json_close(json, ']');
	json_key(json, "patterns");
	json_open(json, '{');
	for (int kind = 0; kind < COMMON_PATTERNS; kind++)
		common_json_pattern(json, answer, kind);
	json_close(json, '}');
	json_key(json, "signs");
	json_open(json, '[');
	for (size_t i = 0; i < answer->sign_count; i++)
		common_json_sign(json, answer, &answer->signs[i]);
	json_close(json, ']');
	json_key(json, "cases");
	json_open(json, '[');
	for (size_t i = 0; i < answer->cases.count; i++)
		common_json_case(json, answer, stores, &answer->cases.items[i]);
	json_close(json, ']');
	json_close(json, '}');
	buffer_u8(json, '\n');
}
