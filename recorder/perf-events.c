// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf-events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/event.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"

/*
 * libperf gives no access to the descriptors that it opens: they are found in /proc/self/fd, to be polled and to be closed on
 * exec.
 */

#define PROBE_NS (50 * NSEC_PER_MSEC)
#define SIDEBAND_RING_BYTES (1u << 20)

struct ring_set {
	struct perf_evlist *list;
	struct perf_layout layout;
	size_t bytes; /* of each ring */
};

struct perf_events {
	struct perf_cpu_map *cpus;
	struct ring_set rings[PERF_RINGS];
	array_of(struct pollfd) polled;
	const char *name;
};

static void ring_set_close(struct ring_set *set)
{
	if (!set->list)
		return;
	perf_evlist__munmap(set->list);
	perf_evlist__close(set->list);
	perf_evlist__delete(set->list);
	set->list = NULL;
}

struct perf_events *perf_events_close(struct perf_events *events)
{
	if (!events)
		return NULL;
	for (int i = 0; i < PERF_RINGS; i++)
		ring_set_close(&events->rings[i]);
	perf_cpu_map__put(events->cpus);
	array_done(&events->polled);
	free(events);
	return NULL;
}

static int silent(enum libperf_print_level level, const char *format, va_list args)
{
	return 0;
}

/* One file a CPU and event: 448 CPUs take more than the usual 1,024. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int open_error(int code, const char *name, unsigned int frequency, struct error *error)
{
	_cleanup_free_ char *paranoid = NULL, *rate = NULL;

	if (code == -EACCES || code == -EPERM) {
		if (file_read("/proc/sys/kernel/perf_event_paranoid", 32, &paranoid, NULL) == 0)
			paranoid[strcspn(paranoid, "\n")] = 0;
		return error_set(error, code,
			"sampling all CPUs needs root or CAP_PERFMON (kernel.perf_event_paranoid "
			"is "
			"%s)",
			paranoid ? paranoid : "unknown");
	}
	if (file_read("/proc/sys/kernel/perf_event_max_sample_rate", 32, &rate, NULL) == 0 &&
		code == -EINVAL && strtoul(rate, NULL, 10) < frequency)
		return error_set(error, code,
			"%u Hz is more than kernel.perf_event_max_sample_rate allows (%lu)",
			frequency, strtoul(rate, NULL, 10));
	if (code == -EMFILE)
		return error_set(
			error, code, "one file a CPU and event is more than RLIMIT_NOFILE allows");
	if (code == -ENOSYS || code == -ENOENT)
		return error_set(error, code, "this kernel has no perf event %s", name);
	return error_set(error, code, "perf event %s: %s", name, strerror(-code));
}

/* An evlist of the one event, open on all CPUs, without rings. */
static int open_set(struct perf_events *events, struct perf_event_attr *attr, struct ring_set *set)
{
	struct perf_evsel *event;
	int r;

	set->list = perf_evlist__new();
	event = set->list ? perf_evsel__new(attr) : NULL;
	if (!event) {
		ring_set_close(set);
		return -ENOMEM;
	}
	perf_evlist__add(set->list, event);
	perf_evlist__set_maps(set->list, events->cpus, NULL);
	errno = 0;
	r = perf_evlist__open(set->list);
	if (r < 0) {
		r = r == -1 && errno ? -errno : r;
		ring_set_close(set);
		return r;
	}
	set->layout = (struct perf_layout){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.sample_id_all = attr->sample_id_all,
	};
	return 0;
}

static int map_set(struct ring_set *set, size_t bytes, struct error *error)
{
	int pages = bytes / sysconf(_SC_PAGESIZE), r;

	set->bytes = bytes;
	errno = 0;
	if (perf_evlist__mmap(set->list, pages) >= 0)
		return 0;
	r = errno ? -errno : -ENOMEM;
	if (r == -EPERM || r == -ENOMEM)
		return error_set(error, r,
			"rings of %zu KB a CPU are over the limit: CAP_IPC_LOCK, a larger "
			"RLIMIT_MEMLOCK, "
			"or kernel.perf_event_mlock_kb",
			bytes / 1024);
	return error_set(error, r, "mapping the rings: %s", strerror(-r));
}

static int open_samples(struct perf_events *events, const struct perf_events_options *options,
	bool cycles, struct error *error)
{
	struct ring_set *set = &events->rings[PERF_RING_SAMPLES];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = options->frequency,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = 1,
		.disabled = 1,
		.exclude_callchain_user = !options->user_stacks,
		.watermark = 1,
		.wakeup_watermark = options->ring_bytes / 2,
	};
	int r;

	events->name = cycles ? "cycles" : "cpu-clock";
	r = open_set(events, &attr, set);
	if (r < 0)
		return open_error(r, events->name, options->frequency, error);
	r = map_set(set, options->ring_bytes, error);
	if (r < 0)
		ring_set_close(set);
	return r;
}

/*
 * Build-ids in MMAP2 records are not asked for: the kernel then marks the same records as having them for everybody else who
 * listens, and a `perf record` that runs beside us writes a file on which perf crashes (6.18 with perf 6.1). Device and inode tell
 * the file, too.
 */
static int open_sideband(struct perf_events *events, struct error *error)
{
	struct ring_set *set = &events->rings[PERF_RING_SIDEBAND];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.watermark = 1,
		.wakeup_watermark = SIDEBAND_RING_BYTES / 2,
	};
	int r = open_set(events, &attr, set);

	if (r == -EINVAL) {
		attr.ksymbol = 0; /* before 5.1 */
		r = open_set(events, &attr, set);
	}
	return r < 0 ? open_error(r, "dummy", 0, error) : map_set(set, SIDEBAND_RING_BYTES, error);
}

/* A number of records in the sample rings, without taking them out. */
static bool any_sample(struct perf_events *events)
{
	struct perf_mmap *map;

	perf_evlist__for_each_mmap(events->rings[PERF_RING_SAMPLES].list, map,
		false) if (perf_mmap__read_init(map) == 0) return true;
	return false;
}

/* Some virtual machines accept cycles and never deliver one: works 50 ms and looks. */
static bool delivers(struct perf_events *events)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + PROBE_NS;

	perf_evlist__enable(events->rings[PERF_RING_SAMPLES].list);
	while (clock_ns(CLOCK_MONOTONIC) < end)
		;
	perf_evlist__disable(events->rings[PERF_RING_SAMPLES].list);
	return any_sample(events);
}

static int open_best_samples(
	struct perf_events *events, const struct perf_events_options *options, struct error *error)
{
	if (open_samples(events, options, true, NULL) == 0) {
		if (delivers(events))
			return 0;
		ring_set_close(&events->rings[PERF_RING_SAMPLES]);
	}
	return open_samples(events, options, false, error);
}

/* What is ours to poll, and not for a child: see the top. */
static int collect_files(struct perf_events *events)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[64];
	int r = 0;

	while (r == 0 && dir && (entry = readdir(dir))) {
		ssize_t size = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		struct pollfd polled = { .fd = atoi(entry->d_name), .events = POLLIN };

		target[MAX(size, 0)] = 0;
		if (strcmp(target, "anon_inode:[perf_event]") != 0)
			continue;
		fcntl(polled.fd, F_SETFD, FD_CLOEXEC);
		r = array_push(&events->polled, polled);
	}
	if (dir)
		closedir(dir);
	return r;
}

int perf_events_open(const struct perf_events_options *options, struct perf_events **ret_events,
	struct error *error)
{
	_cleanup_(cleanup_perf_events) struct perf_events *events = calloc(1, sizeof(*events));
	int r;

	if (!events)
		return -ENOMEM;
	libperf_init(silent);
	raise_file_limit();
	events->cpus = perf_cpu_map__new(NULL);
	if (!events->cpus)
		return -ENOMEM;
	/* the sideband first: a process that is sampled must have been seen to start */
	r = open_sideband(events, error);
	if (r == 0)
		r = open_best_samples(events, options, error);
	if (r == 0)
		r = collect_files(events);
	if (r < 0)
		return r;
	perf_evlist__enable(events->rings[PERF_RING_SIDEBAND].list);
	perf_evlist__enable(events->rings[PERF_RING_SAMPLES].list);
	*ret_events = take_ptr(events);
	return 0;
}

void perf_events_stop(struct perf_events *events)
{
	perf_evlist__disable(events->rings[PERF_RING_SAMPLES].list);
}

const char *perf_events_name(const struct perf_events *events)
{
	return events->name;
}

unsigned int perf_events_cpus(const struct perf_events *events)
{
	return perf_cpu_map__nr(events->cpus);
}

const struct perf_layout *perf_events_layout(const struct perf_events *events, enum perf_ring ring)
{
	return &events->rings[ring].layout;
}

/* libperf looks for new records after each one, so the end is ours to see to. */
static int drain_ring(struct perf_mmap *map, enum perf_ring ring, size_t bytes,
	int (*give)(void *context, enum perf_ring ring, const uint8_t *record, size_t size),
	void *context)
{
	union perf_event *event;
	size_t taken = 0;
	int r = 0;

	if (perf_mmap__read_init(map) < 0)
		return 0;
	while (r >= 0 && taken < bytes && (event = perf_mmap__read_event(map))) {
		taken += event->header.size;
		r = give(context, ring, (const uint8_t *)event, event->header.size);
		perf_mmap__consume(map);
	}
	perf_mmap__read_done(map);
	return r < 0 ? r : 0;
}

int perf_events_drain(struct perf_events *events,
	int (*give)(void *context, enum perf_ring ring, const uint8_t *record, size_t size),
	void *context)
{
	struct perf_mmap *map;
	int r;

	for (int ring = 0; ring < PERF_RINGS; ring++)
		perf_evlist__for_each_mmap(events->rings[ring].list, map, false)
		{
			r = drain_ring(map, ring, events->rings[ring].bytes, give, context);
			if (r < 0)
				return r;
		}
	return 0;
}

void perf_events_wait(struct perf_events *events, uint64_t timeout_ns)
{
	struct timespec timeout = { timeout_ns / NSEC_PER_SEC, timeout_ns % NSEC_PER_SEC };

	ppoll(events->polled.items, events->polled.count, &timeout, NULL);
}
