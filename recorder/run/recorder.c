// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/recorder.h"

#include <stdio.h>

#include "base/clock.h"
#include "recorder/run/drain.h"
#include "recorder/run/shutdown.h"
#include "recorder/run/host-facts.h"
#include "recorder/sink/unsaved.h"
#include "recorder/run/gauge-thread.h"
#include "recorder/kmsg/kmsg-watch.h"
#include "recorder/procs/proc-scan.h"
#include "recorder/run/progress-fill.h"
#include "recorder/pipeline/rescan.h"
#include "recorder/run/rights.h"
#include "recorder/sink/sealer.h"
#include "recorder/run/stall.h"
#include "recorder/run/status-thread.h"
#include "recorder/run/trace-setup.h"
#include "recorder/run/cpu-watch.h"

/* Time to name a tape, in addition to two segments. */
#define OPENER_SLACK_NS (60 * NSEC_PER_SEC)
/* An open file keeps its file system busy and its disk space taken. */
#define OPENER_HOLD_MAX_NS (90 * NSEC_PER_SEC)

/* How long writing the last status may take. A status takes at most a page of the store. */
#define LAST_WORD_NS (10 * NSEC_PER_SEC)
/*
 * How long the last tape waits for the last lines of the log, if the log's thread hangs in the
 * store.
 */
#define LAST_LINES_NS (NSEC_PER_SEC / 2)

/* Each try reads a full ring in some milliseconds. If no try finds our record, it does not come. */
#define FIRST_ANCHOR_TRIES 20

#define HUNG_TEXT "%s%s hangs: stopped before %llu segment%s sealed; %s%s"

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
	/* perf clock; everything before is on its way to the spool */
	uint64_t turned_ns;
	struct host_facts facts;
	struct pipeline_options pipeline_options;
	struct pipeline pipeline;
	struct sealer_options sealer_options;
	struct cpu_watch watch;
	struct stall stall;
	struct rescan rescan;
	/* why an online CPU is not sampled, or "" */
	struct error cpu_trouble;
	/* why values of gauges are missing, or "" */
	struct error gauge_trouble;
	/* 0 or -ENOMEM */
	int changing;
	/* how many requests of each kind were carried out */
	struct recorder_orders done;
	/* perf clock */
	uint64_t begun_ns;
	uint64_t started_monotonic_ns;
	struct recorder_progress progress;
};

static void take_status(struct recorder *recorder, const struct sealer_status *status)
{
	progress_fill_stored(&recorder->progress, status, &recorder->pipeline, recorder->begun_ns,
			     &recorder->cpu_trouble);
	gauge_thread_trouble(recorder->gauges, &recorder->gauge_trouble);
	if (!*recorder->progress.warning.text)
		recorder->progress.warning = recorder->gauge_trouble;
}

static void recorder_report(struct recorder *recorder)
{
	struct recorder_progress *progress = &recorder->progress;
	struct sealer_status status;
	struct opener_counts files;

	sealer_status(recorder->sealer, &status);
	kmsg_watch_spooled(recorder->log, recorder->turned_ns, status.spooled_ns);
	kmsg_watch_trouble(recorder->log, &progress->log_trouble);
	progress_fill_taken(progress, &recorder->pipeline, &recorder->trace);
	take_status(recorder, &status);
	progress->elapsed_ns = clock_ns(CLOCK_MONOTONIC) - recorder->started_monotonic_ns;
	progress->cpus = perf_events_cpus(recorder->drain.events);
	if (recorder->drain.opener) {
		opener_counts(recorder->drain.opener, &files);
		progress->files_held = files.descriptors;
	}
	progress->stalled_signal_ns = recorder->stall.signal_ns;
	progress->stalled_cpu_ns = recorder->stall.cpu_ns;
	self_stats_fill(&recorder->drain.stats, progress);
	gauge_thread_fill(recorder->gauges, progress);
	status_thread_put(recorder->status, progress);
	if (recorder->options->progress)
		recorder->options->progress(recorder->options->context, progress);
}

static const struct recorder_orders *orders_of(const struct recorder *recorder)
{
	static const struct recorder_orders none;

	return recorder->options->orders ? recorder->options->orders : &none;
}

static bool recorder_finished(const struct recorder *recorder)
{
	uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - recorder->started_monotonic_ns;

	return orders_of(recorder)->stop ||
	       (recorder->options->duration_ns && elapsed >= recorder->options->duration_ns);
}

/*
 * Returns how long to wait: until a second after the last turn began, so that turns keep their
 * rhythm.
 */
static uint64_t time_to_sleep(const struct recorder *recorder)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), wake = recorder->drain.turn_ns + DRAIN_NS;

	if (recorder->options->duration_ns)
		wake = MIN(wake, recorder->started_monotonic_ns + recorder->options->duration_ns);
	return wake > now ? wake - now : 0;
}

/*
 * When a CPU goes offline, counts the samples that it lost, because its events have that count and
 * are about to be closed. When a CPU comes online, wants a scan of /proc, which shows what runs
 * there.
 */
static void cpu_changed(void *context, uint32_t cpu, bool online, uint64_t time_ns)
{
	struct recorder *recorder = context;
	int r = 0;

	recorder->rescan.wanted |= online;
	if (online)
		time_ns = drain_now_ns(&recorder->drain);
	else
		r = pipeline_counted(&recorder->pipeline, cpu,
				     perf_events_lost(recorder->drain.events, cpu),
				     drain_anchor_ns(&recorder->drain));
	if (r == 0)
		r = pipeline_cpu(&recorder->pipeline, cpu, online,
				 time_ns ? time_ns : recorder->pipeline.tape->begin_ns);
	recorder->changing = recorder->changing ? recorder->changing : r;
}

/* A CPU whose events cannot be opened counts as offline. */
static int refresh_cpus(struct recorder *recorder)
{
	int r = sideband_refresh(&recorder->drain.sideband, drain_now_ns(&recorder->drain),
				 cpu_changed, recorder, &recorder->cpu_trouble);

	if (r == 0)
		recorder->cpu_trouble.text[0] = 0;
	if (r == -ENOMEM)
		error_set(&recorder->cpu_trouble, r, "looking for CPUs: out of memory");
	return recorder->changing;
}

static int recorder_carry_out_orders(struct recorder *recorder, uint64_t settled_ns)
{
	const struct recorder_orders *orders = orders_of(recorder);

	if (orders->reload != recorder->done.reload) {
		recorder->done.reload = orders->reload;
		status_thread_run_errand(recorder->status);
	}
	/* a tape that has just begun would be empty */
	if (orders->rotate == recorder->done.rotate ||
	    settled_ns < recorder->pipeline.tape->begin_ns + CLOCK_SETTLE_NS)
		return 0;
	recorder->done.rotate = orders->rotate;
	return pipeline_rotate(&recorder->pipeline, settled_ns);
}

/* Takes new lines of the kernel's log, and new values of the host's gauges. */
static int take_context(struct recorder *recorder)
{
	const struct tape_anchor *anchor = pipeline_last_anchor(&recorder->pipeline);
	int r = kmsg_watch_take(recorder->log, recorder->pipeline.tape, anchor);

	return r < 0 ? r : gauge_thread_take(recorder->gauges, recorder->pipeline.tape, anchor);
}

/* Applies everything up to a little before the drain, and hands it to the spool. */
static int recorder_apply(struct recorder *recorder)
{
	uint64_t settled_ns = drain_settled_ns(&recorder->drain);
	int r;

	/*
	 * before the flush for the tape that may end now, and again after it for the tape that
	 * begins then
	 */
	r = take_context(recorder);
	if (r < 0)
		return r;
	r = pipeline_flush(&recorder->pipeline, settled_ns);
	if (r < 0)
		return r;
	r = take_context(recorder);
	if (r < 0)
		return r;
	r = rescan_run(&recorder->rescan, &recorder->pipeline);
	if (r < 0)
		return r;
	r = recorder_carry_out_orders(recorder, settled_ns);
	if (r < 0)
		return r;
	recorder->turned_ns = settled_ns;
	tracker_forget_execs(&recorder->pipeline.tracker, settled_ns);
	return pipeline_spool(&recorder->pipeline, settled_ns);
}

/* One turn: empties the rings, looks at the CPUs, and applies the records. */
static int recorder_turn(struct recorder *recorder)
{
	int r = drain_all(&recorder->drain);

	recorder->drain.turn_ns = recorder->drain.reading.anchor.monotonic_ns;
	if (r < 0)
		return r;
	r = stall_update(&recorder->stall, orders_of(recorder)->continued,
			 recorder->drain.stats.late_ns, drain_anchor_ns(&recorder->drain),
			 &recorder->pipeline.losses);
	if (r < 0)
		return r;
	perf_events_nudge(recorder->drain.events);
	r = refresh_cpus(recorder);
	if (r < 0)
		return r;
	r = cpu_watch_update(&recorder->watch, recorder->drain.events, &recorder->pipeline);
	if (r < 0)
		return r;
	return recorder_apply(recorder);
}

/* Waits a moment, so that new processes are read together with those that they start. */
static int drain_started(struct recorder *recorder, unsigned int rings)
{
	uint64_t pause_ns = exec_cgroups_pause(&recorder->pipeline.tracker.exec_cgroups);

	usleep(MIN(pause_ns, time_to_sleep(recorder)) / NSEC_PER_USEC);
	return drain_rings(&recorder->drain, rings);
}

/*
 * Returns the kinds of rings to drain; 0: the next turn is due. The records that the side-band's
 * thread took last do not wait.
 */
static unsigned int wait_for_rings(struct recorder *recorder, uint64_t left_ns)
{
	unsigned int rings = 1u << PERF_RING_SIDEBAND;

	if (!sideband_rest(&recorder->drain.sideband))
		rings = perf_events_wait(recorder->drain.events, left_ns);
	sideband_work(&recorder->drain.sideband);
	return rings;
}

/* Waits until the next turn, and handles urgent wake-ups before. Returns 0, 1 or -ENOMEM. */
static int wait_for_turn(struct recorder *recorder)
{
	uint64_t left_ns;
	int r = 0;

	while (r == 0 && !recorder_finished(recorder) && (left_ns = time_to_sleep(recorder))) {
		unsigned int rings = wait_for_rings(recorder, left_ns);

		if (!rings)
			break;
		r = rings & 1u << PERF_RING_SAMPLES ? drain_relieve(&recorder->drain)
						    : drain_started(recorder, rings);
	}
	return r;
}

static int recorder_record(struct recorder *recorder, struct error *error)
{
	int r = 0;

	while (!recorder_finished(recorder)) {
		r = wait_for_turn(recorder);
		if (r >= 0)
			r = recorder_turn(recorder);
		if (r < 0)
			return error_set(error, r, "out of memory");
		self_stats_end(&recorder->drain.stats);
		self_stats_mark(&recorder->drain.stats);
		recorder_report(recorder);
	}
	return r;
}

/* The first anchor is where the recording begins. */
static int recorder_begin(struct recorder *recorder, struct error *error)
{
	uint64_t begin_ns;
	int r = proc_scan(&recorder->pipeline.tracker);

	if (recorder->drain.opener)
		opener_begin(recorder->drain.opener, &recorder->pipeline.tracker,
			     perf_events_files_left(recorder->drain.events));
	/*
	 * if a burst of starts displaced our record, the ring has space for a new one after it was
	 * read
	 */
	for (int tries = 0;
	     r == 0 && tries < FIRST_ANCHOR_TRIES && !pipeline_last_anchor(&recorder->pipeline);
	     tries++)
		r = drain_all(&recorder->drain);
	if (r < 0)
		return error_set(error, r, "out of memory");
	if (!pipeline_last_anchor(&recorder->pipeline))
		return error_set(error, -EIO, "the kernel did not deliver our own record");
	begin_ns = drain_anchor_ns(&recorder->drain);
	recorder->started_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	recorder->drain.turn_ns = recorder->drain.reading.anchor.monotonic_ns;
	recorder->begun_ns = begin_ns;
	recorder->progress.begin_ns = pipeline_wall(&recorder->pipeline, begin_ns);
	host_facts_begin(&recorder->facts, begin_ns);
	r = pipeline_begin(&recorder->pipeline, begin_ns);
	if (r == 0 && recorder->options->catalogue)
		r = kmsg_watch_start(&recorder->kmsg_options, begin_ns, &recorder->log);
	recorder->trace.log = recorder->log;
	if (r == 0)
		r = gauge_thread_start("", &recorder->gauges, error);
	return r < 0 ? error_set(error, r, "the recording cannot begin: %s", strerror(-r)) : 0;
}

/* Puts everything up to the last anchor into the last tape. */
static int recorder_finish(struct recorder *recorder, bool failed, struct error *error)
{
	int r = recorder->pipeline.tape ? cpu_watch_last_idle(&recorder->watch, &recorder->pipeline)
					: 0;

	sideband_stop(&recorder->drain.sideband);
	perf_events_stop(recorder->drain.events);
	kmsg_watch_stop(recorder->log, LAST_LINES_NS);
	if (r == 0)
		r = drain_all(&recorder->drain);
	if (r == 0 && recorder->pipeline.tape)
		r = take_context(recorder);
	if (r == 0)
		r = cpu_watch_count(recorder->drain.events, &recorder->pipeline);
	if (r == 0)
		r = pipeline_end(&recorder->pipeline, drain_anchor_ns(&recorder->drain),
				 shutdown_reason(orders_of(recorder), failed));
	progress_fill_taken(&recorder->progress, &recorder->pipeline, &recorder->trace);
	return r < 0 ? error_set(error, r, "out of memory") : 0;
}

struct recorder *recorder_close(struct recorder *recorder)
{
	if (!recorder)
		return NULL;
	drain_done(&recorder->drain);
	rescan_done(&recorder->rescan);
	pipeline_done(&recorder->pipeline);
	trace_setup_done(&recorder->trace);
	cpu_watch_done(&recorder->watch);
	free(recorder);
	return NULL;
}

int recorder_new(const struct recorder_options *options, struct recorder **ret_recorder,
		 struct error *error)
{
	_cleanup_(cleanup_recorder) struct recorder *recorder = calloc(1, sizeof(*recorder));
	int r;

	if (!recorder)
		return -ENOMEM;
	recorder->options = options;
	drain_init(&recorder->drain, &recorder->pipeline);
	cpu_watch_init(&recorder->watch);
	r = pipeline_init(&recorder->pipeline, &recorder->pipeline_options);
	if (r < 0)
		return r;
	r = rights_see_host(error);
	if (r < 0)
		return r;
	r = trace_setup_open(&recorder->trace, options->trace, error);
	if (r < 0)
		return r;
	*ret_recorder = take_ptr(recorder);
	return 0;
}

int recorder_open(struct recorder *recorder, struct error *error)
{
	const struct recorder_options *options = recorder->options;
	struct perf_events_options events = {
		.event = options->event,
		.frequency = options->frequency,
		.cpus = options->cpus,
		.no_user_stacks = options->no_user_stacks,
		.ring_bytes = options->ring_bytes,
	};
	int r;

	trace_setup_ask(&recorder->trace, &events);
	/*
	 * start the opener before large allocations, because it forks; without it, files are opened
	 * only when a tape is named, and some are gone by then
	 */
	r = opener_new(MIN(2 * options->segment_ns + OPENER_SLACK_NS, OPENER_HOLD_MAX_NS),
		       &recorder->drain.opener);
	return r < 0 ? r : perf_events_open(&events, &recorder->drain.events, error);
}

static void recorder_describe(struct recorder *recorder)
{
	struct recorder_progress *progress = &recorder->progress;

	snprintf(progress->version, sizeof(progress->version), "%s", recorder->options->version);
	snprintf(progress->event, sizeof(progress->event), "%s",
		 perf_events_name(recorder->drain.events));
	trace_setup_describe(&recorder->trace, recorder->drain.events, progress);
	progress->frequency = recorder->options->frequency;
	progress->segment_ns = recorder->options->segment_ns;
	progress->ring_bytes =
		perf_events_ring_bytes(recorder->drain.events, &progress->rings_bytes);
}

static int recorder_prepare(struct recorder *recorder, const struct store_writer *writer)
{
	int r;

	recorder_describe(recorder);
	cpu_watch_start(&recorder->watch, &recorder->pipeline.tracker, &orders_of(recorder)->stop);
	r = host_facts_collect(&recorder->facts, recorder->drain.events, recorder->options->cpus,
			       recorder->options->frequency, recorder->options->version);
	if (r == 0)
		r = sideband_start(&recorder->drain.sideband, recorder->drain.events);
	trace_setup_sources(recorder->drain.events, recorder->drain.sources);
	recorder->sealer_options = (struct sealer_options){
		.finder.live = true,
		.finder.delegate = recorder->drain.opener ? opener_find : NULL,
		.finder.context = recorder->drain.opener,
		.boot_id = recorder->facts.boot_id,
		.limits = &recorder->options->limits,
		.memory_bytes = recorder->options->memory_bytes,
		.segment_ns = recorder->options->segment_ns,
		.names_dir = store_writer_names(writer),
		.unsaved = unsaved_read_note(writer, recorder->facts.boot_id),
	};
	recorder->kmsg_options = (struct kmsg_options){
		.catalogue = recorder->options->catalogue,
		.boot_id = recorder->facts.boot_id,
		.trust_users = recorder->options->trust_users,
		.fd = -1,
		.found = recorder->options->found,
		.context = recorder->options->context,
	};
	return r;
}

/* Records. Seals what was taken before a failure, too. */
static int recorder_record_and_finish(struct recorder *recorder, struct error *error)
{
	int r = recorder_begin(recorder, error);

	if (r < 0)
		return r;
	recorder_report(recorder);
	r = recorder_record(recorder, error);
	if (recorder_finish(recorder, r < 0, r == 0 ? error : NULL) < 0 && r == 0)
		r = -ENOMEM;
	return r;
}

/* The spool is not lost: the next recorder or a reader finds it. */
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

static void report_again(void *context)
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
	unsaved_write_note(unsaved, from_ns, to_ns, shutdown_reason(orders_of(recorder), failed),
			   recorder->writer);
}

static int recorder_stop(struct recorder *recorder, int r, struct error *error)
{
	struct sealer_status status = { 0 };
	bool ended;

	recorder->progress.stopping = 1;
	ended = shutdown_wait(recorder->sealer, shutdown_patience_ns(), &orders_of(recorder)->stop,
			      recorder->begun_ns ? report_again : NULL, recorder);
	/* stop both, even if the first one hangs */
	if (status_thread_stop(recorder->status, ended ? LAST_WORD_NS : 0) < 0)
		recorder->progress.hung = true;
	if (kmsg_watch_stop(recorder->log, ended ? LAST_WORD_NS : 0) < 0)
		recorder->progress.hung = true;
	sealer_status(recorder->sealer, &status);
	if (ended && !recorder->progress.hung)
		recorder->sealer = sealer_stop(recorder->sealer, &status);
	take_status(recorder, &status);
	recorder_leave_unsaved(recorder, &status.unsaved, r < 0);
	if (!ended)
		return recorder_report_hung(recorder, error);
	if (!recorder->progress.hung) {
		recorder->log = kmsg_watch_close(recorder->log, !status.failed);
		gauge_thread_stop(recorder->gauges, LAST_WORD_NS);
	}
	if (r == 0 && status.failed)
		r = error_set(error, status.failed, "%s", status.error.text);
	return r;
}

/* Reads the new limits after a request to reload. Runs in the status thread. */
static void recorder_reload(void *context)
{
	struct recorder *recorder = context;
	const struct recorder_options *options = recorder->options;
	struct store_limits limits;

	if (options->reload && options->reload(options->context, &limits) == 0)
		sealer_set_limits(recorder->sealer, &limits);
}

int recorder_run(struct recorder *recorder, const char *store, struct store_writer *writer,
		 struct recorder_progress *ret_progress, struct error *error)
{
	int r;

	recorder->writer = writer;
	r = recorder_prepare(recorder, writer);
	recorder->kmsg_options.store = store;
	if (r == 0)
		r = sealer_start(writer, &recorder->sealer_options, &recorder->sealer, error);
	if (r < 0)
		return r;
	recorder->pipeline_options = (struct pipeline_options){
		.segment_ns = recorder->options->segment_ns,
		.sources = recorder->drain.sources,
		.facts = recorder->facts.rows,
		.sealer = recorder->sealer,
		.period_ns = perf_events_timer_ns(recorder->drain.events),
		.trace = recorder->trace.trace,
	};
	recorder->watch.frequency = recorder->options->frequency;
	r = status_thread_start(writer, recorder_reload, recorder, &recorder->status, error);
	if (r == 0)
		r = recorder_record_and_finish(recorder, error);
	r = recorder_stop(recorder, r, error);
	*ret_progress = recorder->progress;
	return r;
}
