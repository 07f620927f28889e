// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/spikes.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

static void spikes_json_put_share(struct buffer *json, const char *key, double share)
{
	json_key(json, key);
	if (share < 0)
		json_null(json);
	else
		json_nano(json, (uint64_t)(share * 10000 + 0.5) * (NSEC_PER_SEC / 10000));
}

static void spikes_json_put_thread(const struct spikes *spikes, const struct spike *spike,
				   struct buffer *json)
{
	const struct spike_thread *thread = &spikes->threads.items[spike->thread];

	json_key(json, "thread");
	if (!spike->thread) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_key(json, "comm");
	json_string(json, strings_at(&spikes->names, thread->comm));
	json_key(json, "pid");
	json_i64(json, thread->pid);
	json_key(json, "tid");
	json_i64(json, thread->tid);
	spikes_json_put_share(json, "share", spike->thread_share);
	json_close(json, '}');
}

static void spikes_json_put_function(const struct spikes *spikes, const struct spike *spike,
				     struct buffer *json)
{
	json_key(json, "function");
	if (!spike->function) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_key(json, "symbol");
	json_string(json, strings_at(&spikes->names, spike->function));
	spikes_json_put_share(json, "share", spike->function_share);
	json_close(json, '}');
}

static void spikes_json_put_stretch(const struct spikes *spikes,
				    const struct spike_stretch *stretch, struct buffer *json)
{
	const char *comm = spike_stretch_comm(spikes, stretch);

	json_key(json, "kernel_stretch");
	if (!stretch->length_ns) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_time(json, "from", stretch->from_ns);
	json_key(json, "seconds");
	json_nano(json, stretch->length_ns);
	spikes_json_put_share(json, "kernel", stretch->kernel);
	json_key(json, "function");
	if (stretch->function)
		json_string(json, strings_at(&spikes->names, stretch->function));
	else
		json_null(json);
	json_key(json, "comm");
	if (comm)
		json_string(json, comm);
	else
		json_null(json);
	json_close(json, '}');
}

static void spikes_json_put_count(struct buffer *json, const char *key, uint64_t count)
{
	json_key(json, key);
	json_u64(json, count);
}

/* Puts the number of spikes, and how many of them the output omits. */
static void put_counts(const struct spikes *spikes, struct buffer *json)
{
	json_open(json, '{');
	json_key(json, "spikes");
	json_open(json, '{');
	spikes_json_put_count(json, "found",
			      spikes->list.count + spikes->limited + spikes->crowded);
	spikes_json_put_count(json, "shown", spikes->list.count);
	spikes_json_put_count(json, "left_out_limit", spikes->limited);
	spikes_json_put_count(json, "left_out_crowded", spikes->crowded);
	spikes_json_put_count(json, "segments", spikes->segments);
	spikes_json_put_count(json, "segments_unknown", spikes->unknown);
	json_key(json, "losses_told");
	json_bool(json, spikes->losses);
	json_close(json, '}');
	json_close(json, '}');
	buffer_text(json, "\n");
}

static void spikes_json_put_leader(const struct spikes *spikes, const struct spike_leader *leader,
				   struct buffer *json)
{
	json_key(json, "leader");
	if (!leader->comm) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_key(json, "comm");
	json_string(json, strings_at(&spikes->names, leader->comm));
	spikes_json_put_count(json, "threads", leader->threads);
	json_key(json, "pid");
	json_i64(json, leader->pid);
	json_key(json, "tid");
	json_i64(json, leader->tid);
	spikes_json_put_share(json, "share", leader->share);
	json_key(json, "function");
	if (leader->function)
		json_string(json, strings_at(&spikes->names, leader->function));
	else
		json_null(json);
	spikes_json_put_share(json, "function_share",
			      leader->function ? leader->function_share : -1);
	json_close(json, '}');
}

void spikes_put_spike(const struct spikes *spikes, const struct spike *spike, struct buffer *json)
{
	json_open(json, '{');
	json_time(json, "from", spike->from_ns);
	json_time(json, "to", spike->to_ns);
	json_key(json, "seconds");
	json_nano(json, spike->length_ns);
	json_key(json, "counted_seconds");
	json_nano(json, spike->counted_ns);
	json_key(json, "cpu");
	json_u64(json, spike->cpu);
	spikes_json_put_share(json, "busy", spike->busy);
	spikes_json_put_share(json, "kernel", spike->kernel);
	spikes_json_put_share(json, "irq", spike->irq);
	spikes_json_put_share(json, "unseen", spike->unseen);
	spikes_json_put_share(json, "gauges", spike->gauges);
	spikes_json_put_share(json, "machine", spike->machine);
	spikes_json_put_share(json, "crowded", spike->crowded);
	spikes_json_put_thread(spikes, spike, json);
	spikes_json_put_function(spikes, spike, json);
	spikes_json_put_leader(spikes, &spike->leader, json);
	spikes_json_put_stretch(spikes, &spike->stretch, json);
	if (spike->reason) {
		json_key(json, "reason");
		json_string(json, strings_at(&spikes->names, spike->reason));
	}
	json_close(json, '}');
}

void spikes_put_json(const struct spikes *spikes, struct buffer *json)
{
	for (size_t i = 0; i < spikes->list.count; i++) {
		spikes_put_spike(spikes, &spikes->list.items[i], json);
		buffer_text(json, "\n");
	}
	put_counts(spikes, json);
}
