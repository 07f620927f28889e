// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/recorder.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/filler.h"
#include "recorder/perf-events.h"
#include "recorder/proc-scan.h"
#include "recorder/sealer.h"
#include "recorder/timeline.h"

/*
 * Invariants:
 * (1) records are applied in time order, but for those that come out of a ring later than SETTLE_NS after they happened;
 * (2) tape.begin <= time of each of its samples < tape.end; the next tape begins where this one ends;
 * (3) `anchors` holds one at or before the begin of the tape at hand, and all since.
 *
 * The perf clock cannot be read, but a COMM record carries it: each drain starts by renaming the thread to the name that it
 * has, between two looks at the other clocks. The record of that is in the ring before prctl() returns.
 */

#define DRAIN_NS NSEC_PER_SEC

/* A CPU may be taken from us between stamping a record and making it visible. What is younger waits for the next drain. */
#define SETTLE_NS (100 * NSEC_PER_MSEC)

/* The kernel samples a thread for a moment after its EXIT record. */
#define EXITED_NS (5 * NSEC_PER_SEC)

#define INITIAL_PID_NAMESPACE "pid:[4026531836]"

struct recorder {
	const struct recorder_options *options;
	struct perf_events *events;
	struct sealer *sealer;
	struct tracker tracker;
	struct timeline timeline;
	struct filler filler;
	struct tape *tape;
	array_of(struct tape_anchor) anchors;
	struct tape_anchor reading; /* the clocks of this drain; perf_ns comes with the record */
	bool anchored; /* it came */
	int32_t own_tid;
	uint64_t started_ns; /* perf clock */
	uint64_t started_monotonic_ns;
	struct recorder_progress progress;
};

static int add_loss(struct recorder *recorder, enum tape_loss_kind kind,
	const struct perf_record *record, uint64_t count)
{
	struct tape_loss loss = {
		.kind = kind,
		.cpu = record->cpu,
		.from_ns = MAX(record->time_ns, recorder->tape->begin_ns),
		.count = count,
	};

	loss.to_ns = loss.from_ns + 1;
	return array_push(&recorder->tape->losses, loss);
}

static int lose(struct recorder *recorder, enum perf_ring ring, const struct perf_record *record)
{
	bool samples = ring == PERF_RING_SAMPLES;

	*(samples ? &recorder->progress.lost : &recorder->progress.lost_sideband) += record->lost;
	return add_loss(
		recorder, samples ? TAPE_LOSS_SAMPLES : TAPE_LOSS_SIDEBAND, record, record->lost);
}

static uint64_t wall(const struct recorder *recorder, uint64_t perf_ns)
{
	const struct tape_anchor *last = &recorder->anchors.items[recorder->anchors.count - 1];

	return perf_ns + (last->realtime_ns - last->perf_ns);
}

/*
 * The perf time of the next wall-clock multiple of the segment's length. One that is nearer than a tenth of it is passed over: it
 * is the one at which this segment begins, seen a few nanoseconds early, or would give a segment not worth a file.
 */
static uint64_t next_end(const struct recorder *recorder, uint64_t begin_ns)
{
	uint64_t segment_ns = recorder->options->segment_ns;
	uint64_t left_ns = segment_ns - wall(recorder, begin_ns) % segment_ns;

	return begin_ns + left_ns + (left_ns < segment_ns / 10 ? segment_ns : 0);
}

static int put_facts(struct recorder *recorder, struct tape *tape)
{
	_cleanup_free_ char *boot_id = NULL;
	struct utsname names;
	char frequency[16], cpus[16];

	uname(&names);
	if (file_read("/proc/sys/kernel/random/boot_id", 64, &boot_id, NULL) == 0)
		boot_id[strcspn(boot_id, "\n")] = 0;
	snprintf(frequency, sizeof(frequency), "%u", recorder->options->frequency);
	snprintf(cpus, sizeof(cpus), "%u", perf_events_cpus(recorder->events));
	if (tape_add_fact(tape, "boot_id", boot_id ? boot_id : "") < 0 ||
		tape_add_fact(tape, "host", names.nodename) < 0 ||
		tape_add_fact(tape, "kernel", names.release) < 0 ||
		tape_add_fact(tape, "event", perf_events_name(recorder->events)) < 0 ||
		tape_add_fact(tape, "frequency", frequency) < 0 ||
		tape_add_fact(tape, "cpus", cpus) < 0 ||
		tape_add_fact(tape, "version", recorder->options->version) < 0)
		return -ENOMEM;
	return 0;
}

static int begin_tape(struct recorder *recorder, uint64_t begin_ns)
{
	int r = tape_new(&recorder->tape);

	if (r < 0)
		return r;
	recorder->tape->begin_ns = begin_ns;
	recorder->tape->end_ns = next_end(recorder, begin_ns);
	filler_start(&recorder->filler, recorder->tape);
	return put_facts(recorder, recorder->tape);
}

/* Gives the tape its anchors, and keeps those that the next one needs. */
static int give_anchors(struct recorder *recorder)
{
	size_t first = 0;

	for (size_t i = 0; i < recorder->anchors.count; i++) {
		if (array_push(&recorder->tape->anchors, recorder->anchors.items[i]) < 0)
			return -ENOMEM;
		if (recorder->anchors.items[i].perf_ns <= recorder->tape->end_ns)
			first = i;
	}
	recorder->anchors.count -= first;
	memmove(recorder->anchors.items, recorder->anchors.items + first,
		recorder->anchors.count * sizeof(*recorder->anchors.items));
	return 0;
}

static int end_tape(struct recorder *recorder)
{
	_cleanup_free_ int32_t *pids = take_ptr(recorder->filler.pids.items);
	size_t pid_count = recorder->filler.pids.count;
	int r;

	recorder->filler.pids.count = recorder->filler.pids.capacity = 0;
	r = give_anchors(recorder);
	if (r < 0)
		return r;
	return sealer_put(recorder->sealer, take_ptr(recorder->tape), take_ptr(pids), pid_count);
}

/* Ends tapes until the one at hand reaches beyond a moment. */
static int rotate(struct recorder *recorder, uint64_t time_ns)
{
	int r = 0;

	while (r == 0 && time_ns >= recorder->tape->end_ns) {
		uint64_t end_ns = recorder->tape->end_ns;

		r = end_tape(recorder);
		if (r == 0)
			r = begin_tape(recorder, end_ns);
		tracker_sweep(&recorder->tracker, end_ns - MIN(end_ns, EXITED_NS));
	}
	return r;
}

static int take_sample(struct recorder *recorder, const struct perf_record *record)
{
	/* samples of the probe for cycles, taken before the recording began */
	if (record->time_ns < recorder->started_ns)
		return 0;
	/* one that settled late: the tape before is sealed, so this one reaches back for it */
	recorder->tape->begin_ns = MIN(recorder->tape->begin_ns, record->time_ns);
	recorder->progress.samples++;
	return filler_add(&recorder->filler, record);
}

/* A record in its turn. */
static int apply(void *context, const struct timeline_entry *entry, const uint8_t *bytes)
{
	struct recorder *recorder = context;
	enum perf_ring ring = entry->source;
	struct perf_record record;
	int r;

	r = perf_record_decode(
		perf_events_layout(recorder->events, ring), bytes, entry->size, &record);
	if (r == 0 && record.time_ns >= recorder->tape->end_ns)
		r = rotate(recorder, record.time_ns);
	if (r == -EBADMSG) {
		record.time_ns = entry->time_ns;
		record.cpu = TAPE_ALL_CPUS;
		recorder->progress.damaged++;
		return add_loss(recorder, TAPE_LOSS_DAMAGED, &record, 1);
	}
	if (r != 0)
		return MIN(r, 0);
	switch (record.type) {
	case PERF_TYPE_SAMPLE:
		return take_sample(recorder, &record);
	case PERF_TYPE_LOST:
	case PERF_TYPE_LOST_SAMPLES:
		return lose(recorder, ring, &record);
	case PERF_TYPE_THROTTLE:
		return add_loss(recorder, TAPE_LOSS_THROTTLED, &record, 1);
	default:
		return tracker_apply(&recorder->tracker, &record);
	}
}

/* Our own COMM record: the anchor of this drain. */
static int take_anchor(struct recorder *recorder, const uint8_t *bytes, size_t size)
{
	const struct perf_layout *layout = perf_events_layout(recorder->events, PERF_RING_SIDEBAND);
	struct perf_record record;

	if (perf_record_decode(layout, bytes, size, &record) != 0 ||
		record.type != PERF_TYPE_COMM || record.comm.tid != recorder->own_tid)
		return 0;
	recorder->reading.perf_ns = record.time_ns;
	recorder->anchored = true;
	return 0;
}

static int collect(void *context, enum perf_ring ring, const uint8_t *bytes, size_t size)
{
	struct recorder *recorder = context;
	uint64_t time_ns =
		perf_record_time(perf_events_layout(recorder->events, ring), bytes, size);

	if (ring == PERF_RING_SIDEBAND)
		take_anchor(recorder, bytes, size);
	return timeline_add(&recorder->timeline, time_ns, ring, bytes, size);
}

static void read_clocks(struct recorder *recorder)
{
	struct tape_anchor *reading = &recorder->reading;
	uint64_t before = clock_ns(CLOCK_MONOTONIC), after, realtime, boottime;

	prctl(PR_SET_NAME, "perftape");
	realtime = clock_ns(CLOCK_REALTIME);
	boottime = clock_ns(CLOCK_BOOTTIME);
	after = clock_ns(CLOCK_MONOTONIC);
	/* the record was written about in the middle of the bracket, the other clocks were read at its end */
	reading->error_ns = (after - before) / 2;
	reading->monotonic_ns = before + reading->error_ns;
	reading->realtime_ns = realtime - reading->error_ns;
	reading->boottime_ns = boottime - reading->error_ns;
	recorder->anchored = false;
}

/* Takes everything out of the rings. Where our own record was lost there is no anchor this time; the others will do. */
static int drain(struct recorder *recorder)
{
	const struct tape_anchor *last;
	int r;

	read_clocks(recorder);
	r = perf_events_drain(recorder->events, collect, recorder);
	if (r < 0 || !recorder->anchored)
		return r;
	last = recorder->anchors.count ? &recorder->anchors.items[recorder->anchors.count - 1]
				       : NULL;
	if (last && last->perf_ns >= recorder->reading.perf_ns)
		return 0;
	return array_push(&recorder->anchors, recorder->reading);
}

static uint64_t last_anchor_ns(const struct recorder *recorder)
{
	return recorder->anchors.items[recorder->anchors.count - 1].perf_ns;
}

static void report(struct recorder *recorder)
{
	struct recorder_progress *progress = &recorder->progress;
	struct sealer_status status;

	sealer_status(recorder->sealer, &status);
	progress->segments = status.segments;
	progress->bytes = status.bytes;
	progress->elapsed_ns = clock_ns(CLOCK_MONOTONIC) - recorder->started_monotonic_ns;
	progress->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	progress->end_ns = wall(recorder, last_anchor_ns(recorder));
	if (recorder->options->progress)
		recorder->options->progress(recorder->options->context, progress);
}

static bool finished(const struct recorder *recorder)
{
	uint64_t elapsed = clock_ns(CLOCK_MONOTONIC) - recorder->started_monotonic_ns;

	return (recorder->options->stop && *recorder->options->stop) ||
	       (recorder->options->duration_ns && elapsed >= recorder->options->duration_ns);
}

static uint64_t time_to_sleep(const struct recorder *recorder, uint64_t last_drain_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), wake = last_drain_ns + DRAIN_NS;

	if (recorder->options->duration_ns)
		wake = MIN(wake, recorder->started_monotonic_ns + recorder->options->duration_ns);
	return wake > now ? wake - now : 0;
}

static int sealing_failed(struct recorder *recorder, struct error *error)
{
	struct sealer_status status;

	sealer_status(recorder->sealer, &status);
	if (status.failed && error)
		*error = status.error;
	return status.failed;
}

/* One turn: everything up to a little before the drain is applied. */
static int turn(struct recorder *recorder)
{
	uint64_t settled_ns;
	int r = drain(recorder);

	if (r < 0)
		return r;
	settled_ns = last_anchor_ns(recorder) - MIN(last_anchor_ns(recorder), SETTLE_NS);
	r = timeline_flush(&recorder->timeline, settled_ns, apply, recorder);
	/* a quiet host rotates too */
	return r == 0 ? rotate(recorder, settled_ns) : r;
}

static int record(struct recorder *recorder, struct error *error)
{
	int r = 0;

	while (r == 0 && !finished(recorder)) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		perf_events_wait(recorder->events, time_to_sleep(recorder, now));
		r = turn(recorder);
		if (r < 0)
			return error_set(error, r, "out of memory");
		r = sealing_failed(recorder, error);
		if (r == 0)
			report(recorder);
	}
	return r;
}

/* The first anchor is where the recording begins. */
static int begin(struct recorder *recorder, struct error *error)
{
	int r = proc_scan(&recorder->tracker);

	if (r == 0)
		r = drain(recorder);
	if (r < 0)
		return error_set(error, r, "out of memory");
	if (!recorder->anchors.count)
		return error_set(error, -EIO, "the kernel did not report our own thread's name");
	recorder->started_ns = last_anchor_ns(recorder);
	recorder->started_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	recorder->progress.begin_ns = wall(recorder, recorder->started_ns);
	recorder->progress.event = perf_events_name(recorder->events);
	recorder->progress.cpus = perf_events_cpus(recorder->events);
	r = begin_tape(recorder, recorder->started_ns);
	return r < 0 ? error_set(error, r, "out of memory") : 0;
}

/* Everything that is left, up to the last anchor, into the last tape. */
static int finish(struct recorder *recorder, struct error *error)
{
	uint64_t end_ns;
	int r;

	perf_events_stop(recorder->events);
	r = drain(recorder);
	end_ns = last_anchor_ns(recorder);
	if (r == 0)
		r = timeline_flush(&recorder->timeline, UINT64_MAX, apply, recorder);
	if (r == 0)
		r = rotate(recorder, end_ns);
	if (r == 0) {
		recorder->tape->end_ns = MAX(recorder->tape->begin_ns, end_ns);
		r = end_tape(recorder);
	}
	return r < 0 ? error_set(error, r, "out of memory") : 0;
}

static int refuse_pid_namespace(struct error *error)
{
	char namespace[64];
	ssize_t size = readlink("/proc/self/ns/pid", namespace, sizeof(namespace) - 1);

	if (size < 0)
		return 0;
	namespace[size] = 0;
	if (strcmp(namespace, INITIAL_PID_NAMESPACE) == 0)
		return 0;
	return error_set(error, -EPERM,
		"inside a PID namespace every sample looks like pid 0; record on the host, or give "
		"the pod "
		"hostPID: true");
}

static void recorder_done(struct recorder *recorder)
{
	perf_events_close(recorder->events);
	tape_free(recorder->tape);
	filler_done(&recorder->filler);
	timeline_done(&recorder->timeline);
	tracker_done(&recorder->tracker);
	array_done(&recorder->anchors);
}

static int open_all(struct recorder *recorder, struct store_writer *writer, struct error *error)
{
	struct perf_events_options events = {
		.frequency = recorder->options->frequency,
		.user_stacks = true,
		.ring_bytes = RECORDER_RING_BYTES,
	};
	int r = refuse_pid_namespace(error);

	if (r == 0)
		r = tracker_init(&recorder->tracker);
	if (r < 0)
		return r;
	filler_init(&recorder->filler, &recorder->tracker);
	r = perf_events_open(&events, &recorder->events, error);
	return r == 0 ? sealer_start(writer, &recorder->sealer, error) : r;
}

int recorder_run(const struct recorder_options *options, struct store_writer *writer,
	struct recorder_progress *ret_progress, struct error *error)
{
	struct recorder recorder = { .options = options, .own_tid = gettid() };
	struct sealer_status status = { 0 };
	int r = open_all(&recorder, writer, error);

	if (r == 0)
		r = begin(&recorder, error);
	if (r == 0) {
		r = record(&recorder, error);
		/* what was taken before a failure is still worth sealing */
		if (finish(&recorder, r == 0 ? error : NULL) < 0 && r == 0)
			r = -ENOMEM;
	}
	sealer_stop(recorder.sealer, &status);
	recorder_done(&recorder);
	if (r == 0 && status.failed) {
		*error = status.error;
		r = status.failed;
	}
	recorder.progress.segments = status.segments;
	recorder.progress.bytes = status.bytes;
	*ret_progress = recorder.progress;
	return r;
}
