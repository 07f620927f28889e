// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/perf/perf-events-internal.h"
#include "recorder/perf/kernel-support.h"

/* Newer than some of the headers that we are built with. */
#define CAPABILITY_PERFMON 38

#define PROBE_NS (50 * NSEC_PER_MSEC)

/* A ring of this size rides out 20 s at 97 Hz and 24 frames; all of them together are not over a
 * hundredth of the memory. */
#define RING_BYTES (1u << 20)
#define RING_BYTES_MIN (64u << 10)

/* Those of trace events are so much smaller, down to a few pages. */
#define TRACE_PART 4
#define TRACE_BYTES_MIN (16u << 10)

/* Beside the files for each CPU, what else a process has open; with fewer than these it could
 * record, but not seal. */
#define FILES_BESIDE 256
#define FILES_LEAST 96
/* And those of others that are held open until they are named. */
#define FILES_HELD 1024

static void close_ring(struct perf_events *events, enum perf_ring ring)
{
	for (size_t i = 0; i < events->cpus.count; i++)
		events->cpus.items[i].channels[ring] =
			perf_channel_close(events->cpus.items[i].channels[ring]);
}

struct perf_events *perf_events_close(struct perf_events *events)
{
	if (!events)
		return NULL;
	for (int ring = 0; ring < PERF_RINGS; ring++)
		close_ring(events, ring);
	for (int ring = 0; ring < PERF_RINGS; ring++)
		free(events->attrs[ring]);
	array_done(&events->cpus);
	perf_poll_done(&events->poll);
	cpu_list_done(&events->wanted);
	buffer_done(&events->lacks_text);
	source_file_done(&events->online_file);
	free(events->online);
	free(events);
	return NULL;
}

static int rights_error(int code, struct error *error)
{
	_cleanup_free_ char *paranoid = NULL;
	bool older = kernel_support_older(5, 8);

	if (file_read("/proc/sys/kernel/perf_event_paranoid", 32, &paranoid, NULL) == 0)
		paranoid[strcspn(paranoid, "\n")] = 0;
	if (kernel_support_guest())
		return error_set(
			error, code,
			"perf_event_open is forbidden: in a user namespace, as that of a rootless container, root and capabilities are not the host's; record on the host, or in a privileged container of its root's");
	if (kernel_support_capable(CAP_SYS_ADMIN) ||
	    (!older && kernel_support_capable(CAPABILITY_PERFMON)))
		return error_set(
			error, code,
			"perf_event_open is forbidden, though the right is there: a container's seccomp profile or the kernel's lockdown forbids it");
	return error_set(error, code,
			 "sampling all CPUs needs root or %s (kernel.perf_event_paranoid is %s)",
			 older ? "CAP_SYS_ADMIN, this kernel being older than CAP_PERFMON"
			       : "CAP_PERFMON",
			 paranoid ? paranoid : "unknown");
}

static unsigned long perf_open_read_number(const char *path)
{
	_cleanup_free_ char *text = NULL;

	return file_read(path, 32, &text, NULL) == 0 ? strtoul(text, NULL, 10) : 0;
}

static int check_frequency(const struct perf_events *events, struct error *error)
{
	unsigned long rate = perf_open_read_number("/proc/sys/kernel/perf_event_max_sample_rate");

	if (events->options.period || !rate || rate >= events->options.frequency)
		return 0;
	return error_set(
		error, -EINVAL,
		"%u Hz is more than kernel.perf_event_max_sample_rate allows (%lu): take -F %lu, or raise it: sysctl kernel.perf_event_max_sample_rate=100000",
		events->options.frequency, rate, rate);
}

int perf_events_few_files(size_t cpus, struct error *error)
{
	return error_set(
		error, -EMFILE,
		"two files a CPU, and those of the store, are more than RLIMIT_NOFILE allows: raise it to %zu",
		2 * cpus + FILES_BESIDE);
}

static int open_error(int code, const struct perf_events *events, enum perf_ring ring,
		      struct error *error)
{
	const char *name = ring == PERF_RING_SAMPLES ? events->event->name : "dummy";

	if (code == -EACCES || code == -EPERM)
		return rights_error(code, error);
	if (code == -EMFILE)
		return perf_events_few_files(events->cpus.count, error);
	if (code == -ENFILE)
		return error_set(error, code,
				 "two files a CPU are more than fs.file-max leaves on this host");
	if (code == -EBUSY)
		return error_set(error, code,
				 "somebody else has the counters of %s; take cpu-clock", name);
	if (code == -ENOSYS || code == -ENOENT)
		return error_set(
			error, code,
			"this machine has no perf event %s; leave --event out, or take cpu-clock",
			name);
	return error_set(error, code, "perf event %s: %s", name, strerror(-code));
}

/* Over the limit of locked memory is -ENOBUFS, which is nothing else. */
static int map_error(int code, const struct perf_events *events, struct error *error)
{
	struct rlimit limit = { 0 };
	unsigned long shared = perf_open_read_number("/proc/sys/kernel/perf_event_mlock_kb");

	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (code == -EPERM)
		return error_set(
			error, -ENOBUFS,
			"two rings of %zu KB a CPU are over the limit of %lu KB a CPU (kernel.perf_event_mlock_kb) and %llu KB more (RLIMIT_MEMLOCK): raise one, or give CAP_IPC_LOCK, or smaller rings",
			events->ring_bytes / 1024, shared,
			(unsigned long long)limit.rlim_cur / 1024);
	if (code == -ENOMEM)
		return error_set(error, code, "no memory for two rings of %zu KB a CPU",
				 events->ring_bytes / 1024);
	return error_set(error, code, "mapping the rings: %s", strerror(-code));
}

static void make_attrs(struct perf_events *events, enum perf_ring ring)
{
	const struct perf_traced *traced =
		ring == PERF_RING_TRACE ? &events->options.traced : &events->options.asked;
	struct perf_event_attr *attrs = events->attrs[ring];

	if (ring == PERF_RING_SAMPLES)
		*attrs = perf_attr_samples(events->event, &events->options, events->ring_bytes,
					   events->lacks);
	else if (ring == PERF_RING_SIDEBAND)
		*attrs = perf_attr_sideband(events->lacks);
	else
		for (size_t i = 0; i < events->counts[ring]; i++)
			attrs[i] =
				perf_attr_trace(traced->ids[i], events->trace_bytes, events->lacks);
	events->layouts[ring] = perf_attr_layout(attrs);
}

static int perf_open_make_room(struct perf_events *events)
{
	const size_t counts[PERF_RINGS] = { 1, 1, events->options.traced.count,
					    events->options.asked.count };

	for (int ring = 0; ring < PERF_RINGS; ring++) {
		events->counts[ring] = counts[ring];
		events->attrs[ring] =
			calloc(MAX(counts[ring], (size_t)1), sizeof(*events->attrs[ring]));
		if (!events->attrs[ring])
			return -ENOMEM;
	}
	return 0;
}

/* Steps down the ladder as far as this kernel makes us. */
static int open_channel(struct perf_events *events, enum perf_ring ring, uint32_t cpu,
			struct perf_channel **ret_channel)
{
	unsigned int before = events->lacks, lacks;
	int r = -EINVAL;

	for (unsigned int i = 0; r == -EINVAL && perf_attr_try(ring, i, &lacks); i++) {
		events->lacks = before | lacks;
		make_attrs(events, ring);
		r = perf_channel_open(events->attrs[ring], events->counts[ring], cpu, ret_channel);
	}
	/* if it was not for what is new, that is not lacks */
	if (r < 0) {
		events->lacks = before;
		make_attrs(events, ring);
	}
	return r;
}

/*
 * Samples are taken of the CPUs that were asked for. Who runs must be known of all: a thread gets
 * its name and its mappings on one CPU and is then moved to another, and the recorder's own name is
 * its clock. A cgroup is made on one, and removed on another.
 */
bool events_wants(const struct perf_events *events, enum perf_ring ring, uint32_t cpu)
{
	if (!events->counts[ring])
		return false;
	return ring == PERF_RING_SIDEBAND || ring == PERF_RING_TRACE ||
	       !events->wanted.cpus.count || cpu_list_has(&events->wanted, cpu);
}

int events_open_ring(struct perf_events *events, enum perf_ring ring, struct cpu_events *cpu,
		     struct error *error)
{
	struct perf_channel **channel = &cpu->channels[ring];
	int r;

	if (!events_wants(events, ring, cpu->cpu))
		return 0;
	r = open_channel(events, ring, cpu->cpu, channel);
	if (r < 0)
		return open_error(r, events, ring, error);
	r = perf_channel_map(*channel,
			     ring < PERF_RING_TRACE ? events->ring_bytes : events->trace_bytes);
	if (r < 0) {
		*channel = perf_channel_close(*channel);
		return map_error(r, events, error);
	}
	return 0;
}

/* On all CPUs; one that goes offline just now is not there. */
static int open_all(struct perf_events *events, enum perf_ring ring, struct error *error)
{
	int r = 0;

	make_attrs(events, ring);
	for (size_t i = 0; r == 0 && i < events->cpus.count; i++) {
		r = events_open_ring(events, ring, &events->cpus.items[i], error);
		if (r == -ENODEV)
			r = 0;
	}
	if (r < 0)
		close_ring(events, ring);
	return r;
}

static void enable_all(struct perf_events *events, enum perf_ring ring)
{
	for (size_t i = 0; i < events->cpus.count; i++)
		if (events->cpus.items[i].channels[ring])
			perf_channel_enable(events->cpus.items[i].channels[ring]);
}

static void disable_all(struct perf_events *events, enum perf_ring ring)
{
	for (size_t i = 0; i < events->cpus.count; i++)
		if (events->cpus.items[i].channels[ring])
			perf_channel_disable(events->cpus.items[i].channels[ring]);
}

/* Some virtual machines accept cycles and never deliver one: works 50 ms and looks. */
static bool perf_open_delivers(struct perf_events *events)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + PROBE_NS;
	bool any = false;

	enable_all(events, PERF_RING_SAMPLES);
	while (clock_ns(CLOCK_MONOTONIC) < end)
		;
	disable_all(events, PERF_RING_SAMPLES);
	for (size_t i = 0; i < events->cpus.count && !any; i++)
		any = events->cpus.items[i].channels[PERF_RING_SAMPLES] &&
		      perf_channel_sampled(events->cpus.items[i].channels[PERF_RING_SAMPLES]);
	return any;
}

static int open_cycles(struct perf_events *events, struct error *error)
{
	int r;

	events->event = perf_attr_event("cycles");
	r = open_all(events, PERF_RING_SAMPLES, error);
	if (r < 0 || perf_open_delivers(events))
		return r;
	close_ring(events, PERF_RING_SAMPLES);
	return error_set(error, -ENOENT,
			 "this machine accepts the event cycles and delivers none; take cpu-clock");
}

static int open_samples(struct perf_events *events, struct error *error)
{
	const char *name = events->options.event;

	if (name && strcmp(name, "cycles") == 0)
		return open_cycles(events, error);
	if (!name && open_cycles(events, NULL) == 0)
		return 0;
	if (!name)
		events->lacks |= PERF_LACKS_CYCLES;
	events->event = perf_attr_event(name ? name : "cpu-clock");
	if (!events->event)
		return error_set(error, -EINVAL, "there is no event '%s'", name);
	return open_all(events, PERF_RING_SAMPLES, error);
}

/* Those that are offline may come. */
static size_t present_cpus(const struct perf_events *events)
{
	size_t online = events->cpus.count, count;
	struct cpu_list present = { 0 };
	_cleanup_free_ char *text = NULL;

	if (file_read("/sys/devices/system/cpu/present", 65536, &text, NULL) == 0)
		cpu_list_parse(text, &present);
	count = MAX(present.cpus.count, online);
	cpu_list_done(&present);
	return count;
}

static bool has_traced(const struct perf_events *events)
{
	return events->counts[PERF_RING_TRACE] + events->counts[PERF_RING_ASKED];
}

/* Of all events, and of what else there must be. */
static rlim_t files_needed(const struct perf_events *events)
{
	size_t traced = events->counts[PERF_RING_TRACE] + events->counts[PERF_RING_ASKED];

	return (2 + traced) * present_cpus(events) + FILES_BESIDE;
}

/* Some files a CPU: 448 CPUs take more than the usual 1,024, and root may have more than the usual
 * most. */
static int raise_file_limit(struct perf_events *events, struct error *error)
{
	rlim_t needed = files_needed(events), wanted = needed + FILES_HELD;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return 0;
	limit.rlim_cur = wanted;
	limit.rlim_max = MAX(limit.rlim_max, wanted);
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (has_traced(events) && limit.rlim_cur < needed) {
		events->counts[PERF_RING_TRACE] = events->counts[PERF_RING_ASKED] = 0;
		events->lacks |= PERF_LACKS_TRACE;
	}
	return limit.rlim_cur < 2 * events->cpus.count + FILES_LEAST
		       ? perf_events_few_files(events->cpus.count, error)
		       : 0;
}

size_t perf_events_files_left(const struct perf_events *events)
{
	rlim_t needed = files_needed(events);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= needed)
		return 0;
	return MIN(limit.rlim_cur - needed, FILES_HELD);
}

static size_t default_ring_bytes(size_t cpus)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	size_t bytes = RING_BYTES;

	while (bytes > RING_BYTES_MIN && (2 * bytes + bytes / TRACE_PART) * cpus > memory / 100)
		bytes /= 2;
	return bytes;
}

int events_read_online(struct perf_events *events)
{
	return source_file_read(&events->online_file, 65536);
}

static int find_cpus(struct perf_events *events, struct error *error)
{
	struct cpu_list online = { 0 };
	int r = 0;

	if (events->options.cpus)
		r = cpu_list_parse(events->options.cpus, &events->wanted);
	if (r < 0)
		return error_set(error, r, "'%s' is no list of CPUs; write 3 or 0-3,8",
				 events->options.cpus);
	r = events_read_online(events);
	if (r == 0)
		r = cpu_list_parse(events->online_file.text, &online);
	for (size_t i = 0; r == 0 && i < online.cpus.count; i++)
		r = array_push(&events->cpus, (struct cpu_events){ .cpu = online.cpus.items[i] });
	for (size_t i = 0; r == 0 && i < events->wanted.cpus.count; i++)
		if (!cpu_list_has(&online, events->wanted.cpus.items[i]))
			r = error_set(
				error, -ENODEV,
				"--cpus: CPU %u is not online; /sys/devices/system/cpu/online lists those that are",
				events->wanted.cpus.items[i]);
	cpu_list_done(&online);
	return r;
}

static int open_rings(struct perf_events *events, struct error *error)
{
	/* the sideband first: a process that is sampled must have been seen to start */
	int r = open_all(events, PERF_RING_SIDEBAND, error);

	if (r == 0)
		r = events_collect(events, PERF_RING_SIDEBAND);
	if (r == 0)
		r = open_samples(events, error);
	return r == 0 ? events_collect(events, PERF_RING_SAMPLES) : r;
}

/* What the limits leave. Without them it is recorded all the same. */
static int open_traced(struct perf_events *events, enum perf_ring ring)
{
	int r = open_all(events, ring, NULL);

	while (r == -ENOBUFS && events->trace_bytes > TRACE_BYTES_MIN) {
		events->trace_bytes /= 2;
		r = open_all(events, ring, NULL);
	}
	if (r < 0) {
		events->lacks |= PERF_LACKS_TRACE;
		events->counts[ring] = 0;
	}
	return events_collect(events, ring);
}

int perf_events_open(const struct perf_events_options *options, struct perf_events **ret_events,
		     struct error *error)
{
	_cleanup_(cleanup_perf_events) struct perf_events *events = calloc(1, sizeof(*events));
	int r;

	if (!events)
		return -ENOMEM;
	events->options = *options;
	source_file_init(&events->online_file, "", "/sys/devices/system/cpu/online");
	perf_channel_setup();
	r = find_cpus(events, error);
	if (r < 0)
		return r;
	r = perf_open_make_room(events);
	if (r == 0)
		r = raise_file_limit(events, error);
	if (r < 0)
		return r;
	events->ring_bytes =
		options->ring_bytes ? options->ring_bytes : default_ring_bytes(events->cpus.count);
	r = check_frequency(events, error);
	if (r == 0)
		r = open_rings(events, error);
	/* who has not said how large they are to be gets what the limits leave */
	while (r == -ENOBUFS && !options->ring_bytes && events->ring_bytes > RING_BYTES_MIN) {
		close_ring(events, PERF_RING_SIDEBAND);
		events->ring_bytes /= 2;
		events->lacks |= PERF_LACKS_RINGS;
		r = open_rings(events, error);
	}
	if (r < 0)
		return r;
	events->trace_bytes = MAX(events->ring_bytes / TRACE_PART, (size_t)TRACE_BYTES_MIN);
	for (int ring = PERF_RING_TRACE; r == 0 && ring < PERF_RINGS; ring++)
		if (events->counts[ring])
			r = open_traced(events, ring);
	if (r < 0)
		return r;
	perf_attr_describe(events->lacks, &events->lacks_text);
	kernel_support_describe(&events->lacks_text);
	buffer_u8(&events->lacks_text, 0);
	if (buffer_failed(&events->lacks_text))
		return -ENOMEM;
	for (int ring = PERF_RINGS; ring-- > 0;)
		enable_all(events, ring);
	*ret_events = take_ptr(events);
	return 0;
}
