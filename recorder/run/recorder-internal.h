/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Shared by recorder.c, which records, and recorder-end.c, which ends the recording. */

#include "recorder/kmsg/kmsg-watch.h"
#include "recorder/pipeline/pipeline.h"
#include "recorder/pipeline/rescan.h"
#include "recorder/run/cpu-watch.h"
#include "recorder/run/drain.h"
#include "recorder/run/gauge-thread.h"
#include "recorder/run/host-facts.h"
#include "recorder/run/recorder.h"
#include "recorder/run/stack-dumps.h"
#include "recorder/run/stall.h"
#include "recorder/run/status-thread.h"
#include "recorder/run/trace-setup.h"
#include "recorder/sink/sealer.h"

struct recorder {
	const struct recorder_options *options;
	struct drain drain;
	struct trace_setup trace;
	/* set for the run */
	struct store_writer *writer;
	struct sealer *sealer;
	struct status_thread *status;
	struct kmsg_options kmsg_options;
	/* NULL: the kernel's log is not read */
	struct kmsg_watch *log;
	struct gauge_thread *gauges;
	/* all records before this time were applied and given to the spooler; perf clock */
	uint64_t turned_ns;
	struct host_facts facts;
	struct pipeline_options pipeline_options;
	struct pipeline pipeline;
	struct sealer_options sealer_options;
	struct cpu_watch watch;
	struct stall stall;
	struct rescan rescan;
	struct stack_dumps stacks;
	/* why an online CPU is not sampled, or "" */
	struct error cpu_trouble;
	/* why values of gauges are missing, or "" */
	struct error gauge_trouble;
	/* 0 or -ENOMEM */
	int changing;
	/* the number of requests of each kind that the recorder carried out */
	struct recorder_orders done;
	/* perf clock */
	uint64_t begun_ns;
	uint64_t started_monotonic_ns;
	struct recorder_progress progress;
};

/* Returns the requests to this recorder; all are 0 if its caller cannot make any. */
const struct recorder_orders *recorder_orders(const struct recorder *recorder);
/* Takes new lines of the kernel's log, and new values of the host's gauges. */
int recorder_take_context(struct recorder *recorder);
/* Puts the sealer's status into the progress. */
void recorder_take_status(struct recorder *recorder, const struct sealer_status *status);
/* Completes the progress, and hands it to the status thread and to the caller of the recorder. */
void recorder_report(struct recorder *recorder);

/* Puts all records up to the last anchor into the last tape. Returns 0 or -ENOMEM. */
int recorder_finish(struct recorder *recorder, bool failed, struct error *error);
/*
 * Waits for the threads and stops them. `r` is the result of the recording. Returns `r`; or the
 * first error of the end, if `r` is 0.
 */
int recorder_stop(struct recorder *recorder, int r, struct error *error);
