// SPDX-License-Identifier: GPL-2.0-only
#include "gauges/gauges.h"

#include "base/clock.h"
#include "gauges/source.h"

/*
 * Do not read an absent or forbidden source again for this time. A kernel that lacks a file will
 * still lack it a second later.
 */
#define PAUSE_S 300

static const struct source_kind *const kinds[] = { &source_cpu,	       &source_pressure,
						   &source_vmstat,     &source_net,
						   &source_queues,     &source_memory_cgroups,
						   &source_throttling, &source_units,
						   &source_softirqs,   &source_waits };

struct source {
	void *state;
	/* gauges_read() skips the source until this second. */
	uint64_t paused_until;
	struct gauges_cost cost;
};

struct gauges {
	const struct gauges_sink *sink;
	/* Called around each read of a source, see gauges_guard(). May be NULL. */
	bool (*guard)(void *context, const char *source);
	void *guard_context;
	struct source sources[ARRAY_SIZE(kinds)];
	char root[];
};

int gauges_new(const char *root, const struct gauges_sink *sink, struct gauges **ret_gauges)
{
	struct gauges *gauges = calloc(1, sizeof(*gauges) + strlen(root) + 1);

	if (!gauges)
		return -ENOMEM;
	gauges->sink = sink;
	memcpy(gauges->root, root, strlen(root));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		gauges->sources[i].cost.source = kinds[i]->name;
		gauges->sources[i].state = kinds[i]->make(gauges->root);
		if (!gauges->sources[i].state) {
			gauges_free(gauges);
			return -ENOMEM;
		}
	}
	*ret_gauges = gauges;
	return 0;
}

struct gauges *gauges_free(struct gauges *gauges)
{
	for (size_t i = 0; gauges && i < ARRAY_SIZE(kinds); i++)
		if (gauges->sources[i].state)
			kinds[i]->done(gauges->sources[i].state);
	free(gauges);
	return NULL;
}

/* Notes errors of the sink, which must not count as errors of the source. */
struct tap {
	const struct gauges_sink *sink;
	int failed;
};

static int tap_name(void *context, const char *name, uint32_t *ret_id)
{
	struct tap *tap = context;

	return tap->failed = tap->sink->name(tap->sink->context, name, ret_id);
}

static int tap_put(void *context, uint32_t id, int64_t value)
{
	struct tap *tap = context;

	return tap->failed = tap->sink->put(tap->sink->context, id, value);
}

static int read_source(struct gauges *gauges, size_t i, uint64_t second)
{
	struct source *source = &gauges->sources[i];
	struct tap tap = { gauges->sink, 0 };
	const struct gauges_sink sink = { tap_name, tap_put, &tap };
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), now = clock_ns(CLOCK_MONOTONIC);
	int r = kinds[i]->read(source->state, &sink);

	source->cost.reads++;
	source->cost.cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	source->cost.longest_ns = MAX(source->cost.longest_ns, clock_ns(CLOCK_MONOTONIC) - now);
	if (tap.failed < 0 || r == -ENOMEM)
		return r;
	source->cost.failures += r < 0;
	if (r == -ENOENT || r == -EACCES || r == -EPERM || r == -EOPNOTSUPP)
		source->paused_until = second + PAUSE_S;
	return 0;
}

void gauges_guard(struct gauges *gauges, bool (*guard)(void *context, const char *source),
		  void *context)
{
	gauges->guard = guard;
	gauges->guard_context = context;
}

static int read_guarded(struct gauges *gauges, size_t i, uint64_t second)
{
	int r;

	if (!gauges->guard)
		return read_source(gauges, i, second);
	if (!gauges->guard(gauges->guard_context, kinds[i]->name))
		return 0;
	r = read_source(gauges, i, second);
	gauges->guard(gauges->guard_context, NULL);
	return r;
}

int gauges_read(struct gauges *gauges, uint64_t second)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(kinds); i++) {
		if (second % kinds[i]->period_s)
			continue;
		if (second >= gauges->sources[i].paused_until)
			r = read_guarded(gauges, i, second);
	}
	return r;
}

int gauges_watch_thread(struct gauges *gauges, uint32_t tid)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(kinds); i++) {
		if (!kinds[i]->watch)
			continue;
		r = kinds[i]->watch(gauges->sources[i].state, tid);
		gauges->sources[i].paused_until = 0;
	}
	return r;
}

size_t gauges_count(const struct gauges *gauges)
{
	(void)gauges;
	return ARRAY_SIZE(kinds);
}

void gauges_cost(const struct gauges *gauges, size_t source, struct gauges_cost *ret_cost)
{
	*ret_cost = gauges->sources[source].cost;
}
