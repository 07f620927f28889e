// SPDX-License-Identifier: GPL-2.0-only
/* Ends a recording: takes what is left in the rings, and waits for the threads. */
#include <stdio.h>

#include "base/clock.h"
#include "recorder/run/recorder-internal.h"
#include "recorder/run/progress-fill.h"
#include "recorder/run/shutdown.h"
#include "recorder/sink/unsaved.h"

/* Time to write the last status, which is small. */
#define LAST_WORD_NS (10 * NSEC_PER_SEC)
/*
 * How long the last tape waits for the last lines of the log, if the log's thread hangs in the
 * store.
 */
#define LAST_LINES_NS (NSEC_PER_SEC / 2)

#define HUNG_TEXT "%s%s hangs: stopped before %llu segment%s sealed; %s%s"

static int recorder_drain_last(struct recorder *recorder, bool failed)
{
	int r = drain_all(&recorder->drain);

	if (r < 0)
		return r;
	if (recorder->pipeline.tape)
		r = recorder_take_context(recorder);
	if (r < 0)
		return r;
	r = cpu_watch_count(recorder->drain.events, &recorder->pipeline);
	if (r < 0)
		return r;
	return pipeline_end(&recorder->pipeline, drain_anchor_ns(&recorder->drain),
			    shutdown_reason(recorder_orders(recorder), failed));
}

int recorder_finish(struct recorder *recorder, bool failed, struct error *error)
{
	int r = recorder->pipeline.tape ? cpu_watch_last_idle(&recorder->watch, &recorder->pipeline)
					: 0;

	sideband_stop(&recorder->drain.sideband);
	perf_events_stop(recorder->drain.events);
	kmsg_watch_stop(recorder->log, LAST_LINES_NS);
	if (r == 0)
		r = recorder_drain_last(recorder, failed);
	progress_fill_taken(&recorder->progress, &recorder->pipeline, &recorder->trace);
	return r < 0 ? error_set(error, r, "out of memory") : 0;
}

/* The spool stays in the store: the next recorder recovers it, and readers read it. */
static int recorder_report_hung(struct recorder *recorder, struct error *error)
{
	struct recorder_progress *progress = &recorder->progress;
	uint64_t lag_ns = progress->spool_lag_ns;
	char lag[32];

	duration_format(lag_ns, lag, sizeof(lag));
	progress->hung = true;
	return error_set(error, -ETIMEDOUT, HUNG_TEXT, *progress->naming ? "naming " : "the store",
			 progress->naming, (unsigned long long)progress->waiting,
			 progress->waiting == 1 ? " was" : "s were",
			 lag_ns ? "the next recording recovers all but the last "
				: "the next recording seals their samples",
			 lag_ns ? lag : "");
}

static void recorder_report_again(void *context)
{
	recorder_report(context);
}

static void recorder_leave_unsaved(const struct recorder *recorder, const struct tape_loss *unsaved,
				   bool failed)
{
	const struct pipeline *pipeline = &recorder->pipeline;
	uint64_t from_ns = 0, to_ns = 0;

	if (pipeline_last_anchor(pipeline)) {
		from_ns = pipeline_wall(pipeline, unsaved->from_ns);
		to_ns = pipeline_wall(pipeline, unsaved->to_ns);
	}
	unsaved_write_note(unsaved, from_ns, to_ns,
			   shutdown_reason(recorder_orders(recorder), failed), recorder->writer);
}

int recorder_stop(struct recorder *recorder, int r, struct error *error)
{
	struct sealer_status status = { 0 };
	bool ended;

	recorder->progress.stopping = 1;
	ended = shutdown_wait(recorder->sealer, shutdown_patience_ns(),
			      &recorder_orders(recorder)->stop,
			      recorder->begun_ns ? recorder_report_again : NULL, recorder);
	/* stop both, even if the first one hangs */
	if (status_thread_stop(recorder->status, ended ? LAST_WORD_NS : 0) < 0)
		recorder->progress.hung = true;
	if (kmsg_watch_stop(recorder->log, ended ? LAST_WORD_NS : 0) < 0)
		recorder->progress.hung = true;
	sealer_status(recorder->sealer, &status);
	if (ended && !recorder->progress.hung)
		recorder->sealer = sealer_stop(recorder->sealer, &status);
	recorder_take_status(recorder, &status);
	recorder_leave_unsaved(recorder, &status.unsaved, r < 0);
	if (!ended)
		return recorder_report_hung(recorder, error);
	if (!recorder->progress.hung) {
		recorder->log = kmsg_watch_close(recorder->log, !status.failed);
		gauge_thread_stop(recorder->gauges, LAST_WORD_NS);
	}
	if (r != 0)
		return r;
	return status.failed ? error_set(error, status.failed, "%s", status.error.text) : 0;
}
