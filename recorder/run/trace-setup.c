// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/trace-setup.h"

#include <stdio.h>

static void take_timeout(void *context, uint64_t time_ns, const char *line)
{
	const struct trace_setup *setup = context;

	kmsg_watch_report(setup->log, time_ns, line);
}

int trace_setup_open(struct trace_setup *setup, const char *asked, struct error *error)
{
	struct trace_options options = { .timeout = take_timeout, .context = setup };
	int r = trace_set_open("", asked, &setup->set, &setup->lacks, error);

	if (r < 0)
		return r;
	buffer_u8(&setup->lacks, 0);
	if (buffer_failed(&setup->lacks))
		return -ENOMEM;
	options.set = setup->set;
	return trace_new(&options, &setup->trace);
}

void trace_setup_ask(const struct trace_setup *setup, struct perf_events_options *events)
{
	const struct trace_set *set = setup->set;

	events->traced = (struct perf_traced){ set->always.items, set->always.count };
	events->requested = (struct perf_traced){ set->asked.items, set->asked.count };
}

void trace_setup_done(struct trace_setup *setup)
{
	trace_free(setup->trace);
	trace_set_close(setup->set);
	buffer_done(&setup->lacks);
}

void trace_setup_describe(const struct trace_setup *setup, const struct perf_events *events,
			  struct recorder_progress *progress)
{
	const char *others = perf_events_lacks(events);
	const char *lacks = (const char *)setup->lacks.data;

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
			.requested = ring == PERF_RING_REQUESTED,
		};
}

void trace_setup_fill(const struct trace_setup *setup, const struct losses_counts *counts,
		      struct recorder_progress *progress)
{
	progress->lost_events = counts->lost_events;
}
