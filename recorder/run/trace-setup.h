/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The trace events of a recording: which there are, what becomes of them, and what is told of that.
 */

#include "recorder/pipeline/pipeline.h"
#include "recorder/kmsg/kmsg-watch.h"
#include "recorder/run/progress.h"
#include "recorder/trace/trace.h"

/* Zeroed to start. */
struct trace_setup {
	struct trace *trace;
	/* that is told of what it should have said; NULL: none is */
	struct kmsg_watch *log;
	/* the rest is tracing.c's */
	struct trace_set *set;
	/* the names of what is not to be had */
	struct buffer lacks;
};

/* Finds them, of trace_set_open(). It stays where it is. */
int trace_setup_open(struct trace_setup *tracing, const char *asked, struct error *error);
/* Has them opened with the others. */
void trace_setup_ask(const struct trace_setup *tracing, struct perf_events_options *events);
void trace_setup_done(struct trace_setup *tracing);

/* What this kernel is too old for, or our rights do not reach, with what else is lacks. */
void trace_setup_describe(const struct trace_setup *tracing, const struct perf_events *events,
			  struct recorder_progress *progress);
/* What comes out of which ring. */
void trace_setup_sources(const struct perf_events *events,
			 struct pipeline_source sources[PERF_RINGS]);
/* What became of them so far. */
void trace_setup_tell(const struct trace_setup *tracing, const struct losses_counts *counts,
		      struct recorder_progress *progress);
