// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "base/json.h"
#include "query/explain/explain.h"
#include "query/explain/incident-words.h"

/* Writes a number with five digits after the point, or null if it is unknown. */
static void explain_json_put_number(struct buffer *json, const char *key, double value)
{
	json_key(json, key);
	if (isnan(value))
		json_null(json);
	else
		json_nano(json, (uint64_t)(MAX(value, 0.0) * 1e5 + 0.5) * 10000);
}

static void explain_json_put_count(struct buffer *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_u64(json, value);
}

static void explain_json_put_text(struct buffer *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}

static void explain_json_put_chance(struct buffer *json, const char *key,
				    const struct evidence_chance *chance)
{
	json_key(json, key);
	if (!chance->windows) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	explain_json_put_count(json, "windows", chance->windows);
	explain_json_put_count(json, "as_much", chance->as_much);
	explain_json_put_count(json, "tried", chance->tried);
	explain_json_put_number(json, "p", chance->p);
	json_close(json, '}');
}

static void explain_json_put_row(struct buffer *json, const char *key,
				 const struct evidence_row *row)
{
	json_key(json, key);
	json_open(json, '{');
	explain_json_put_number(json, "stall", row->now);
	explain_json_put_number(json, "usual", row->chance.windows ? row->usual : NAN);
	explain_json_put_number(json, "most", row->chance.windows ? row->most : NAN);
	explain_json_put_chance(json, "chance", &row->chance);
	json_close(json, '}');
}

static void explain_json_put_incident(struct buffer *json, const struct evidence *evidence)
{
	static const char *const sources[] = { "unknown", "line", "interrupts" };
	const struct evidence_incident *incident = &evidence->incident;
	struct buffer words = { 0 };

	incident_words_put(evidence, &words);
	buffer_u8(&words, 0);
	explain_json_put_text(json, "words", buffer_failed(&words) ? "" : (const char *)words.data);
	buffer_done(&words);
	explain_json_put_text(json, "note", evidence->window.note);
	json_key(json, "incident");
	if (!*incident->kind) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	explain_json_put_count(json, "id", incident->id);
	explain_json_put_text(json, "kind", incident->kind);
	explain_json_put_text(json, "device", incident->device);
	explain_json_put_text(json, "interface", incident->ifname);
	explain_json_put_text(json, "line", incident->line);
	json_time(json, "time", incident->first_ns);
	json_key(json, "queue");
	incident->has_queue ? json_u64(json, incident->queue) : json_null(json);
	json_key(json, "cpu");
	incident->cpu_source ? json_u64(json, incident->cpu) : json_null(json);
	explain_json_put_text(json, "cpu_from", sources[incident->cpu_source]);
	json_key(json, "napi_scheduled");
	incident->napi_scheduled < 0 ? json_null(json) : json_i64(json, incident->napi_scheduled);
	json_close(json, '}');
}

static void explain_json_put_threads(struct buffer *json, const struct evidence *evidence,
				     const struct evidence_core *core)
{
	json_key(json, "threads");
	json_open(json, '[');
	for (size_t i = 0; i < core->thread_count; i++) {
		const struct evidence_thread *thread = &core->threads[i];

		json_open(json, '{');
		explain_json_put_text(json, "comm", evidence_name(evidence, thread->comm));
		json_key(json, "pid");
		json_i64(json, thread->pid);
		json_key(json, "tid");
		json_i64(json, thread->tid);
		explain_json_put_text(json, "cgroup", evidence_name(evidence, thread->cgroup));
		explain_json_put_number(json, "share", thread->share);
		explain_json_put_number(json, "share_of_machine",
					evidence->cpus ? thread->share / evidence->cpus : NAN);
		explain_json_put_row(json, "all_of_name", &thread->row);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void explain_json_put_path(struct buffer *json, const struct evidence *evidence,
				  const struct evidence_core *core)
{
	json_key(json, "path");
	json_open(json, '[');
	for (size_t i = 0; i < core->path_count; i++) {
		json_open(json, '{');
		explain_json_put_text(json, "function",
				      evidence_name(evidence, core->path[i].function));
		json_key(json, "kernel");
		json_bool(json, core->path[i].kernel);
		explain_json_put_number(json, "share", core->path[i].share);
		json_key(json, "new");
		json_bool(json, core->path[i].is_new);
		json_close(json, '}');
	}
	json_close(json, ']');
	explain_json_put_text(json, "leaf", evidence_name(evidence, core->leaf));
	explain_json_put_number(json, "leaf_share", core->leaf_share);
}

static void explain_json_put_strip(struct buffer *json, const struct evidence_core *core)
{
	json_key(json, "strip");
	json_open(json, '[');
	for (size_t i = 0; i < EVIDENCE_STRIP; i++)
		if (core->strip[i] == EVIDENCE_STRIP_UNKNOWN)
			json_null(json);
		else
			json_u64(json, core->strip[i]);
	json_close(json, ']');
}

static void explain_json_put_core(struct buffer *json, const struct evidence *evidence,
				  const struct evidence_core *core)
{
	struct standing standing = core_standing(evidence, core);

	json_open(json, '{');
	explain_json_put_count(json, "cpu", core->cpu);
	json_key(json, "full");
	json_bool(json, core->full);
	json_time(json, "from", core->from_ns);
	json_time(json, "to", core->to_ns);
	explain_json_put_number(json, "busy", core->busy);
	explain_json_put_number(json, "user", core->user);
	explain_json_put_number(json, "kernel", core->kernel);
	explain_json_put_number(json, "irq", core->irq);
	explain_json_put_number(json, "softirq", core->softirq);
	explain_json_put_number(json, "steal", core->steal);
	explain_json_put_number(json, "gauges", core->gauges);
	explain_json_put_strip(json, core);
	explain_json_put_threads(json, evidence, core);
	explain_json_put_path(json, evidence, core);
	explain_json_put_row(json, "path_row", &core->leaf_row);
	explain_json_put_chance(json, "full_chance", &core->full_chance);
	explain_json_put_count(json, "recurs", core->recurs);
	json_key(json, "stands_out");
	json_bool(json, standing.out);
	explain_json_put_number(json, "p", standing.tested ? standing.p : NAN);
	json_close(json, '}');
}

static void explain_json_put_verdicts(struct buffer *json, const struct explain *explain)
{
	json_key(json, "verdicts");
	json_open(json, '[');
	for (size_t i = 0; i < explain->verdicts.count; i++) {
		const struct verdict *verdict = &explain->verdicts.list[i];

		json_open(json, '{');
		explain_json_put_text(json, "kind", verdict->kind);
		explain_json_put_text(json, "title", verdict->title);
		explain_json_put_text(json, "confidence", confidence_name(verdict->confidence));
		json_key(json, "accuses");
		json_bool(json, verdict->accuses);
		json_key(json, "cpu");
		if (verdict->core < 0)
			json_null(json);
		else
			json_u64(json, explain->evidence.cores[verdict->core].cpu);
		explain_json_put_text(json, "evidence", verdict->evidence);
		explain_json_put_text(json, "next", verdict->next);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void explain_json_put_quiet(struct buffer *json, const struct evidence_quiet *quiet)
{
	json_key(json, "quiet");
	json_open(json, '{');
	explain_json_put_count(json, "windows", quiet->count);
	explain_json_put_count(json, "length_ns", quiet->length_ns);
	json_time_or_null(json, "from", quiet->from_ns);
	json_time_or_null(json, "to", quiet->to_ns);
	explain_json_put_count(json, "searched_ns", quiet->searched_ns);
	json_close(json, '}');
}

static void explain_json_put_since(struct buffer *json, const struct evidence *evidence)
{
	const struct evidence_since *since = &evidence->since;

	json_key(json, "since");
	if (!since->segments) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	explain_json_put_text(json, "function", evidence_name(evidence, since->function));
	explain_json_put_count(json, "segments", since->segments);
	json_time(json, "first", since->first_ns);
	json_time_or_null(json, "changed_after", since->from_ns);
	json_time_or_null(json, "changed_before", since->at_ns);
	explain_json_put_number(json, "before", since->before);
	explain_json_put_number(json, "after", since->after);
	json_close(json, '}');
}

static void explain_json_put_figure(struct buffer *json, const char *key,
				    const struct evidence_figure *figure)
{
	json_key(json, key);
	json_open(json, '{');
	explain_json_put_number(json, "stall", figure->now);
	explain_json_put_number(json, "usual", figure->usual);
	json_close(json, '}');
}

static void explain_json_put_named(struct buffer *json, const char *key,
				   const struct evidence *evidence,
				   const struct evidence_named *list, size_t count)
{
	json_key(json, key);
	json_open(json, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(json, '{');
		explain_json_put_text(json, "name", evidence_name(evidence, list[i].name));
		explain_json_put_number(json, "stall", list[i].figure.now);
		explain_json_put_number(json, "usual", list[i].figure.usual);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void explain_json_put_victims(struct buffer *json, const struct evidence *evidence)
{
	json_key(json, "victims");
	json_open(json, '[');
	for (size_t i = 0; i < evidence->victim_count; i++) {
		const struct evidence_victim *victim = &evidence->victims[i];

		json_open(json, '{');
		explain_json_put_text(json, "thread", evidence_name(evidence, victim->name));
		explain_json_put_count(json, "wait_ns", victim->wait_ns);
		json_time(json, "from", victim->from_ns);
		json_time(json, "to", victim->to_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_key(json, "waits_known");
	json_bool(json, evidence->waits_known);
}

static void explain_json_put_messages(struct buffer *json, const struct evidence *evidence)
{
	const struct evidence_host *host = &evidence->host;

	json_key(json, "messages");
	json_open(json, '[');
	for (size_t i = 0; i < host->message_count; i++) {
		json_open(json, '{');
		explain_json_put_text(json, "kind",
				      evidence_name(evidence, host->messages[i].kind));
		explain_json_put_count(json, "lines", host->messages[i].lines);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void explain_json_put_host(struct buffer *json, const struct evidence *evidence)
{
	const struct evidence_host *host = &evidence->host;

	json_key(json, "memory_cgroups");
	json_open(json, '{');
	explain_json_put_number(json, "tracked", host->tracked);
	explain_json_put_number(json, "in_use", host->in_use);
	explain_json_put_number(json, "dying", host->dying);
	explain_json_put_text(json, "made_by", evidence_name(evidence, host->made_by));
	explain_json_put_text(json, "made_under", evidence_name(evidence, host->made_under));
	explain_json_put_number(json, "grown", host->grown);
	json_close(json, '}');
	explain_json_put_figure(json, "reclaim_stalls", &host->stalls);
	explain_json_put_figure(json, "cpu_pressure", &host->cpu_pressure);
	explain_json_put_figure(json, "memory_pressure", &host->memory_pressure);
	explain_json_put_figure(json, "io_pressure", &host->io_pressure);
	explain_json_put_figure(json, "forks", &host->forks);
	explain_json_put_number(json, "steal", host->steal_all);
	explain_json_put_named(json, "throttled", evidence, host->throttled, host->throttled_count);
	explain_json_put_named(json, "started", evidence, host->started, host->started_count);
	explain_json_put_messages(json, evidence);
	json_key(json, "changed_files");
	json_open(json, '[');
	for (size_t i = 0; i < evidence->binary_count; i++)
		json_string(json, evidence_name(evidence, evidence->binaries[i]));
	json_close(json, ']');
	explain_json_put_victims(json, evidence);
}

void explain_put_json(const struct explain *explain, struct buffer *json)
{
	const struct evidence *evidence = &explain->evidence;

	json_open(json, '{');
	explain_json_put_incident(json, evidence);
	json_time(json, "from", evidence->stall_from_ns);
	json_time(json, "to", evidence->stall_to_ns);
	explain_json_put_count(json, "samples", evidence->samples);
	explain_json_put_count(json, "cpus", evidence->cpus);
	explain_json_put_count(json, "full_cpus", evidence->full_cpus);
	explain_json_put_row(json, "machine", &evidence->machine);
	json_key(json, "cores");
	json_open(json, '[');
	for (size_t i = 0; i < evidence->core_count; i++)
		explain_json_put_core(json, evidence, &evidence->cores[i]);
	json_close(json, ']');
	explain_json_put_quiet(json, &evidence->quiet);
	explain_json_put_since(json, evidence);
	explain_json_put_host(json, evidence);
	explain_json_put_verdicts(json, explain);
	json_close(json, '}');
	buffer_u8(json, '\n');
}
