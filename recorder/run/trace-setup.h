/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The trace events of a recording: finds those that this kernel has, connects them to their
 * handlers, and fills in their part of the status.
 */

#include "recorder/pipeline/pipeline.h"
#include "recorder/kmsg/kmsg-watch.h"
#include "recorder/run/progress.h"
#include "recorder/trace/trace.h"

/* Zeroed to start. */
struct trace_setup {
	struct trace *trace;
	/*
	 * receives a line as from the kernel's log when a network queue does not send; NULL: the
	 * recorder does not read the log
	 */
	struct kmsg_watch *log;
	/* private to trace-setup.c */
	struct trace_set *set;
	/* the names of absent trace events, separated by commas */
	struct buffer lacks;
};

/*
 * Finds the events with trace_set_open(), and returns its errors. The object must not move
 * afterwards.
 */
int trace_setup_open(struct trace_setup *setup, const char *asked, struct error *error);
/* Adds the events that trace_setup_open() found to the events to open. */
void trace_setup_ask(const struct trace_setup *setup, struct perf_events_options *events);
void trace_setup_done(struct trace_setup *setup);

/*
 * Fills in the names of all features and rights that are absent, also those that do not concern
 * trace events.
 */
void trace_setup_describe(const struct trace_setup *setup, const struct perf_events *events,
			  struct recorder_progress *progress);
/* Sets `sources` to the kind of records that each ring delivers. */
void trace_setup_sources(const struct perf_events *events,
			 struct pipeline_source sources[PERF_RINGS]);
/* Fills in the number of lost trace events. */
void trace_setup_fill(const struct trace_setup *setup, const struct losses_counts *counts,
		      struct recorder_progress *progress);
