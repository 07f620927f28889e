// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/recorder.h"

#include <stdio.h>

#include "base/clock.h"
#include "recorder/procs/proc-scan.h"
#include "recorder/run/progress-fill.h"
#include "recorder/run/recorder-internal.h"
#include "recorder/run/rights.h"
#include "recorder/run/self-setup.h"
#include "recorder/sink/unsaved.h"

/* Time to name a tape, in addition to two segments. */
#define OPENER_SLACK_NS (60 * NSEC_PER_SEC)
/* An open file keeps its file system busy and its disk space taken. */
#define OPENER_HOLD_MAX_NS (90 * NSEC_PER_SEC)

/*
 * Each try reads a full ring in some milliseconds. After this number, our COMM record does not
 * come.
 */
#define FIRST_ANCHOR_TRIES 20

void recorder_take_status(struct recorder *recorder, const struct sealer_status *status)
{
	progress_fill_stored(&recorder->progress, status, &recorder->pipeline, recorder->begun_ns,
			     &recorder->cpu_trouble);
	gauge_thread_trouble(recorder->gauges, &recorder->gauge_trouble);
	if (!*recorder->progress.warning.text)
		recorder->progress.warning = recorder->gauge_trouble;
}

void recorder_report(struct recorder *recorder)
{
	struct recorder_progress *progress = &recorder->progress;
	struct sealer_status status;
	struct opener_counts files;

	sealer_status(recorder->sealer, &status);
	kmsg_watch_spooled(recorder->log, recorder->turned_ns, status.spooled_ns);
	kmsg_watch_trouble(recorder->log, &progress->log_trouble);
	progress_fill_taken(progress, &recorder->pipeline, &recorder->trace);
	recorder_take_status(recorder, &status);
	progress->elapsed_ns = clock_ns(CLOCK_MONOTONIC) - recorder->started_monotonic_ns;
	progress->cpus = perf_events_cpus(recorder->drain.events);
	if (recorder->drain.opener) {
		opener_counts(recorder->drain.opener, &files);
		progress->files_held = files.descriptors;
	}
	progress->stalled_signal_ns = recorder->stall.signal_ns;
	progress->stalled_cpu_ns = recorder->stall.cpu_ns;
	self_stats_fill(&recorder->drain.stats, progress);
	stack_dumps_fill(&recorder->stacks, progress);
	gauge_thread_fill(recorder->gauges, progress);
	status_thread_put(recorder->status, progress);
	if (recorder->options->progress)
		recorder->options->progress(recorder->options->context, progress);
}

const struct recorder_orders *recorder_orders(const struct recorder *recorder)
{
	static const struct recorder_orders none;

	return recorder->options->orders ? recorder->options->orders : &none;
}

static bool recorder_finished(const struct recorder *recorder)
{
	uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - recorder->started_monotonic_ns;

	return recorder_orders(recorder)->stop ||
	       (recorder->options->duration_ns && elapsed >= recorder->options->duration_ns);
}

/*
 * Returns the time until one second after the begin of the last turn, so that turns stay one second
 * apart.
 */
static uint64_t time_to_sleep(const struct recorder *recorder)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), wake = recorder->drain.turn_ns + DRAIN_NS;

	if (recorder->options->duration_ns)
		wake = MIN(wake, recorder->started_monotonic_ns + recorder->options->duration_ns);
	return wake > now ? wake - now : 0;
}

/*
 * When a CPU goes offline, takes the count of its lost samples from its events, before they are
 * closed. When a CPU comes online, requests a scan of /proc, which shows the processes that run
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
	const struct recorder_orders *orders = recorder_orders(recorder);

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

int recorder_take_context(struct recorder *recorder)
{
	const struct tape_anchor *anchor = pipeline_last_anchor(&recorder->pipeline);
	int r = kmsg_watch_take(recorder->log, recorder->pipeline.tape, anchor);

	return r < 0 ? r : gauge_thread_take(recorder->gauges, recorder->pipeline.tape, anchor);
}

/* Applies the records up to a moment before the drain (CLOCK_SETTLE_NS), and spools their rows. */
static int recorder_apply(struct recorder *recorder)
{
	uint64_t settled_ns = drain_settled_ns(&recorder->drain);
	int r;

	/*
	 * take log lines and gauges before the flush, for the tape that may end in it; and again
	 * after the flush, for the tape that begins
	 */
	r = recorder_take_context(recorder);
	if (r < 0)
		return r;
	r = pipeline_flush(&recorder->pipeline, settled_ns);
	if (r < 0)
		return r;
	r = recorder_take_context(recorder);
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
	r = stall_update(&recorder->stall, recorder_orders(recorder)->continued,
			 recorder->drain.stats.late_ns, drain_anchor_ns(&recorder->drain),
			 &recorder->pipeline.losses);
	if (r < 0)
		return r;
	perf_events_nudge(recorder->drain.events);
	r = stack_dumps_turn(&recorder->stacks, recorder->options->segment_ns);
	if (r < 0)
		return r;
	r = refresh_cpus(recorder);
	if (r < 0)
		return r;
	r = cpu_watch_update(&recorder->watch, recorder->drain.events, &recorder->pipeline);
	if (r < 0)
		return r;
	return recorder_apply(recorder);
}

/* Waits a moment, so that one drain reads new processes together with their first children. */
static int drain_started(struct recorder *recorder, unsigned int rings)
{
	uint64_t pause_ns = exec_cgroups_pause(&recorder->pipeline.tracker.exec_cgroups);

	usleep(MIN(pause_ns, time_to_sleep(recorder)) / NSEC_PER_USEC);
	return drain_rings(&recorder->drain, rings);
}

/*
 * Returns the kinds of rings to drain; 0: the next turn is due. Does not wait if the side-band's
 * thread has already taken records out of the rings.
 */
static unsigned int wait_for_rings(struct recorder *recorder, uint64_t left_ns)
{
	unsigned int rings = 1u << PERF_RING_SIDEBAND;

	if (!sideband_rest(&recorder->drain.sideband))
		rings = perf_events_wait(recorder->drain.events, left_ns);
	sideband_work(&recorder->drain.sideband);
	return rings;
}

/* Waits for the next turn, and handles urgent wake-ups until then. Returns 0, 1 or -ENOMEM. */
static int wait_for_turn(struct recorder *recorder)
{
	uint64_t left_ns;
	int r = 0;

	while (r == 0 && !recorder_finished(recorder) && (left_ns = time_to_sleep(recorder))) {
		unsigned int rings = wait_for_rings(recorder, left_ns);

		if (!rings)
			break;
		r = rings & (1u << PERF_RING_SAMPLES | 1u << PERF_RING_DUMPS)
			    ? drain_relieve(&recorder->drain)
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

/* The recording begins at the first anchor. */
static int recorder_begin(struct recorder *recorder, struct error *error)
{
	uint64_t begin_ns;
	int r = proc_scan(&recorder->pipeline.tracker);

	if (recorder->drain.opener)
		opener_begin(recorder->drain.opener, &recorder->pipeline.tracker,
			     perf_events_files_left(recorder->drain.events));
	/*
	 * if a burst of new processes filled the ring, our COMM record was lost; after a drain the
	 * ring has space for another one
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
	/* the log's thread tells the gauges which threads incidents name, so the gauges come first
	 */
	if (r == 0)
		r = gauge_thread_start("", &recorder->gauges, error);
	recorder->kmsg_options.named_context = recorder->gauges;
	if (r == 0 && recorder->options->catalogue)
		r = kmsg_watch_start(&recorder->kmsg_options, begin_ns, &recorder->log);
	recorder->trace.log = recorder->log;
	return r < 0 ? error_set(error, r, "the recording cannot begin: %s", strerror(-r)) : 0;
}

struct recorder *recorder_close(struct recorder *recorder)
{
	if (!recorder)
		return NULL;
	stack_dumps_done(&recorder->stacks);
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
	self_setup_return_memory();
	/* without this right, the recorder goes on with the CPU time that it gets */
	(void)self_setup_go_first();
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
		.stack_bytes = options->no_user_stacks ? 0 : options->stack_bytes,
		.ring_bytes = options->ring_bytes,
	};
	int r;

	trace_setup_ask(&recorder->trace, &events);
	/*
	 * start the opener before large allocations, because it forks; without an opener, the namer
	 * opens files when it names a tape, and some no longer exist by then
	 */
	r = opener_new(MIN(2 * options->segment_ns + OPENER_SLACK_NS, OPENER_HOLD_MAX_NS),
		       &recorder->drain.opener, error);
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

/* Runs in the thread of the kernel's log. */
static void recorder_watch_named(void *context, uint32_t tid)
{
	gauge_thread_watch(context, tid);
}

static int recorder_prepare(struct recorder *recorder, const struct store_writer *writer)
{
	int r;

	recorder_describe(recorder);
	cpu_watch_start(&recorder->watch, &recorder->pipeline.tracker,
			&recorder_orders(recorder)->stop);
	r = host_facts_collect(&recorder->facts, recorder->drain.events, recorder->options->cpus,
			       recorder->options->frequency, recorder->options->version,
			       recorder->stacks.bytes_text);
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
		.named = recorder_watch_named,
	};
	return r;
}

/* Records until the end or a failure, and then seals the samples, in both cases. */
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
	if (r < 0)
		return r;
	r = sealer_start(writer, &recorder->sealer_options, &recorder->sealer, error);
	if (r < 0)
		return r;
	r = stack_dumps_start(&recorder->stacks, recorder->drain.events,
			      &recorder->pipeline.tracker, &recorder->sealer_options.finder,
			      recorder->options->stack_bytes_fixed);
	if (r < 0)
		return r;
	recorder->drain.tables = recorder->stacks.tables;
	recorder->pipeline_options = (struct pipeline_options){
		.segment_ns = recorder->options->segment_ns,
		.sources = recorder->drain.sources,
		.facts = recorder->facts.rows,
		.sealer = recorder->sealer,
		.period_ns = perf_events_timer_ns(recorder->drain.events),
		.trace = recorder->trace.trace,
		.dumps = recorder->stacks.dumps,
	};
	recorder->watch.frequency = recorder->options->frequency;
	r = status_thread_start(writer, recorder_reload, recorder, &recorder->status, error);
	if (r == 0)
		r = recorder_record_and_finish(recorder, error);
	r = recorder_stop(recorder, r, error);
	*ret_progress = recorder->progress;
	return r;
}
