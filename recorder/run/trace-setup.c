// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/trace-setup.h"

#include <stdio.h>

static void take_timeout(void *context, uint64_t time_ns, const char *line)
{
	const struct trace_setup *tracing = context;

	kmsg_watch_say(tracing->log, time_ns, line);
}

int trace_setup_open(struct trace_setup *tracing, const char *asked, struct error *error)
{
	struct trace_options options = { .timeout = take_timeout, .context = tracing };
	int r = trace_set_open("", asked, &tracing->set, &tracing->lacks, error);

	if (r < 0)
		return r;
	buffer_u8(&tracing->lacks, 0);
	if (buffer_failed(&tracing->lacks))
		return -ENOMEM;
	options.set = tracing->set;
	return trace_new(&options, &tracing->trace);
}

void trace_setup_ask(const struct trace_setup *tracing, struct perf_events_options *events)
{
	const struct trace_set *set = tracing->set;

	events->traced = (struct perf_traced){ set->always.items, set->always.count };
	events->asked = (struct perf_traced){ set->asked.items, set->asked.count };
}

void trace_setup_done(struct trace_setup *tracing)
{
	trace_free(tracing->trace);
	trace_set_close(tracing->set);
	buffer_done(&tracing->lacks);
}

void trace_setup_describe(const struct trace_setup *tracing, const struct perf_events *events,
			  struct recorder_progress *progress)
{
	const char *others = perf_events_lacks(events);
	const char *lacks = (const char *)tracing->lacks.data;

	snprintf(progress->lacks, sizeof(progress->lacks), "%s%s%s", others,
		 *others && *lacks ? "," : "", lacks);
}

void trace_setup_sources(const struct perf_events *events,
			 struct pipeline_source sources[PERF_RINGS])
{
	for (int ring = 0; ring < PERF_RINGS; ring++)
		sources[ring] = (struct pipeline_source){
			.layout = perf_events_layout(events, ring),
			.ring = ring,
			.samples = ring == PERF_RING_SAMPLES,
			.traced = ring >= PERF_RING_TRACE,
			.asked = ring == PERF_RING_ASKED,
		};
}

void trace_setup_tell(const struct trace_setup *tracing, const struct losses_counts *counts,
		      struct recorder_progress *progress)
{
	progress->lost_events = counts->lost_events;
}
