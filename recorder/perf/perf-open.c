// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/perf/perf-events-internal.h"
#include "recorder/perf/kernel-support.h"

/* Older kernel headers do not define this capability. */
#define CAPABILITY_PERFMON 38

#define PROBE_NS (50 * NSEC_PER_MSEC)

/*
 * A ring of this size holds 20 s of samples at 97 Hz and 24 frames. All rings together take at most
 * 1 % of the memory.
 */
#define RING_BYTES (1u << 20)
#define RING_BYTES_MIN (64u << 10)

/* Rings of trace events are smaller by this factor, but have at least a few pages. */
#define TRACE_RING_SHARE 4
#define TRACE_BYTES_MIN (16u << 10)

/*
 * Files that the recorder has open besides its events: usually, and at least. With fewer than
 * FILES_MIN, the recorder could record, but not seal.
 */
#define FILES_OTHER 256
#define FILES_MIN 96
/* The highest level of kernel.perf_event_paranoid, except on kernels of Debian and Ubuntu. */
#define PARANOID_MAX 2
/* Files of other programs that the fd_cache keeps open until their symbols are read. */
#define FILES_FD_CACHE 1024

void events_close_ring(struct perf_events *events, enum perf_ring ring)
{
	for (size_t i = 0; i < events->cpus.count; i++) {
		struct cpu_events *cpu = &events->cpus.items[i];

		cpu->channels[ring] = perf_channel_close(cpu->channels[ring]);
		/* the event of samples leads the event that copies stacks, so close both */
		if (ring == PERF_RING_DUMPS || ring == PERF_RING_SAMPLES)
			cpu->dump = dump_event_close(cpu->dump);
	}
}

struct perf_events *perf_events_close(struct perf_events *events)
{
	if (!events)
		return NULL;
	for (int ring = 0; ring < PERF_RINGS; ring++)
		events_close_ring(events, ring);
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

static const char forbidden_in_namespace[] =
	"perf_event_open: forbidden in a user namespace (rootless container); record on the host";
static const char forbidden_by_filter[] =
	"perf_event_open: forbidden despite the right; allow it in seccomp and kernel lockdown";
static const char forbidden_by_level[] =
	"perf_event_open: forbidden (kernel.perf_event_paranoid is %s); set it to 2 or lower";
static const char forbidden_without_right[] =
	"perf_event_open: forbidden (kernel.perf_event_paranoid is %s); run as root or with %s";

static int perf_open_rights_error(int code, struct error *error)
{
	_cleanup_free_ char *paranoid = NULL;
	bool older = kernel_support_is_older(5, 8);
	bool admin = kernel_support_has_capability(CAP_SYS_ADMIN);
	bool perfmon = !older && kernel_support_has_capability(CAPABILITY_PERFMON);

	if (kernel_support_in_user_namespace())
		return error_set(error, code, forbidden_in_namespace);
	if (file_read("/proc/sys/kernel/perf_event_paranoid", 32, &paranoid, NULL) == 0)
		paranoid[strcspn(paranoid, "\n")] = 0;
	if (perfmon && !admin && paranoid && atoi(paranoid) > PARANOID_MAX)
		return error_set(error, code, forbidden_by_level, paranoid);
	if (admin || perfmon)
		return error_set(error, code, forbidden_by_filter);
	return error_set(error, code, forbidden_without_right, paranoid ? paranoid : "unknown",
			 older ? "CAP_SYS_ADMIN (CAP_PERFMON needs Linux 5.8)" : "CAP_PERFMON");
}

static unsigned long perf_open_read_number(const char *path)
{
	_cleanup_free_ char *text = NULL;

	return file_read(path, 32, &text, NULL) == 0 ? strtoul(text, NULL, 10) : 0;
}

static const char frequency_too_high[] =
	"%u Hz: kernel.perf_event_max_sample_rate allows %lu; use -F %lu or raise the sysctl";

static int perf_open_check_frequency(const struct perf_events *events, struct error *error)
{
	unsigned long rate = perf_open_read_number("/proc/sys/kernel/perf_event_max_sample_rate");

	if (events->options.period || !rate || rate >= events->options.frequency)
		return 0;
	return error_set(error, -EINVAL, frequency_too_high, events->options.frequency, rate, rate);
}

int perf_events_file_limit_error(size_t cpus, struct error *error)
{
	return error_set(error, -EMFILE,
			 "two files per CPU and the store's exceed RLIMIT_NOFILE; raise it to %zu",
			 2 * cpus + FILES_OTHER);
}

static int perf_open_open_error(int code, const struct perf_events *events, enum perf_ring ring,
				struct error *error)
{
	const char *name = ring == PERF_RING_SAMPLES ? events->event->name : "dummy";

	if (code == -EACCES || code == -EPERM)
		return perf_open_rights_error(code, error);
	if (code == -EMFILE)
		return perf_events_file_limit_error(events->cpus.count, error);
	if (code == -ENFILE)
		return error_set(error, code,
				 "two files per CPU exceed fs.file-max of this host; raise it");
	if (code == -EBUSY)
		return error_set(error, code,
				 "perf event %s: another program has its counters; use cpu-clock",
				 name);
	if (code == -ENOSYS || code == -ENOENT)
		return error_set(
			error, code,
			"perf event %s: not on this machine; omit --event or use cpu-clock", name);
	return error_set(error, code, "perf event %s: %s", name, strerror(-code));
}

/*
 * Sets the error for a ring that cannot be mapped. Returns -ENOBUFS if the code is -EPERM, by which
 * the kernel reports too little locked memory.
 */
static int perf_open_map_error(int code, const struct perf_events *events, struct error *error)
{
	unsigned long shared_kb = perf_open_read_number("/proc/sys/kernel/perf_event_mlock_kb");
	size_t ring_kb = events->ring_bytes / 1024;
	struct rlimit limit = { 0 };
	char limits[96];

	if (code == -ENOMEM)
		return error_set(error, code,
				 "two rings of %zu KB per CPU: no memory; use smaller rings",
				 ring_kb);
	if (code != -EPERM)
		return error_set(error, code, "mapping the rings: %s", strerror(-code));
	getrlimit(RLIMIT_MEMLOCK, &limit);
	snprintf(limits, sizeof(limits),
		 "kernel.perf_event_mlock_kb is %lu, RLIMIT_MEMLOCK is %llu KB", shared_kb,
		 (unsigned long long)limit.rlim_cur / 1024);
	return error_set(error, -ENOBUFS,
			 "two rings of %zu KB per CPU: %s; raise a limit or add CAP_IPC_LOCK",
			 ring_kb, limits);
}

void events_make_attrs(struct perf_events *events, enum perf_ring ring)
{
	const struct perf_traced *traced =
		ring == PERF_RING_TRACE ? &events->options.traced : &events->options.requested;
	struct perf_event_attr *attrs = events->attrs[ring];

	if (ring == PERF_RING_SAMPLES)
		*attrs = perf_attr_samples(events->event, &events->options, events->ring_bytes,
					   events->lacks);
	else if (ring == PERF_RING_SIDEBAND)
		*attrs = perf_attr_sideband(events->lacks);
	else if (ring == PERF_RING_DUMPS)
		*attrs = perf_attr_dumps(events->event, &events->options, events->dump_bytes,
					 events->stack_bytes, events->lacks);
	else
		for (size_t i = 0; i < events->counts[ring]; i++)
			attrs[i] =
				perf_attr_trace(traced->ids[i], events->trace_bytes, events->lacks);
	events->layouts[ring] = perf_attr_layout(attrs);
}

static int perf_open_allocate_attrs(struct perf_events *events)
{
	const size_t counts[PERF_RINGS] = { 1, 1, events->options.traced.count,
					    events->options.requested.count, 0 };

	for (int ring = 0; ring < PERF_RINGS; ring++) {
		events->counts[ring] = counts[ring];
		events->attrs[ring] =
			calloc(MAX(counts[ring], (size_t)1), sizeof(*events->attrs[ring]));
		if (!events->attrs[ring])
			return -ENOMEM;
	}
	return 0;
}

/* Tries to open the events with fewer and fewer features. */
static int perf_open_open_channel(struct perf_events *events, enum perf_ring ring, uint32_t cpu,
				  struct perf_channel **ret_channel)
{
	unsigned int before = events->lacks, lacks;
	int r = -EINVAL;

	for (unsigned int i = 0; r == -EINVAL && perf_attr_try(ring, i, &lacks); i++) {
		events->lacks = before | lacks;
		events_make_attrs(events, ring);
		r = perf_channel_open(events->attrs[ring], events->counts[ring], cpu, ret_channel);
	}
	/* The try without these features failed, too, so do not note that the kernel lacks them. */
	if (r < 0) {
		events->lacks = before;
		events_make_attrs(events, ring);
	}
	return r;
}

/*
 * Samples come from the requested CPUs only. The side-band and the cgroup events must come from all
 * CPUs. A thread gets its name and its mappings on one CPU and then moves to another. A cgroup is
 * made on one CPU and removed on another. The recorder's own COMM record, which has the perf clock,
 * may come from any CPU.
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
	if (ring == PERF_RING_DUMPS)
		return events_open_dump(events, cpu);
	r = perf_open_open_channel(events, ring, cpu->cpu, channel);
	if (r < 0)
		return perf_open_open_error(r, events, ring, error);
	r = perf_channel_map(*channel, events_ring_bytes(events, ring));
	if (r < 0) {
		*channel = perf_channel_close(*channel);
		return perf_open_map_error(r, events, error);
	}
	return 0;
}

/* Skips a CPU that goes offline at this moment. */
int events_open_all(struct perf_events *events, enum perf_ring ring, struct error *error)
{
	int r = 0;

	events_make_attrs(events, ring);
	for (size_t i = 0; r == 0 && i < events->cpus.count; i++) {
		r = events_open_ring(events, ring, &events->cpus.items[i], error);
		if (r == -ENODEV)
			r = 0;
	}
	if (r < 0)
		events_close_ring(events, ring);
	return r;
}

static void perf_open_enable_all(struct perf_events *events, enum perf_ring ring)
{
	for (size_t i = 0; i < events->cpus.count; i++) {
		/* an event in a group starts together with its leader */
		if (ring == PERF_RING_SAMPLES && events->cpus.items[i].dump)
			dump_event_enable(events->cpus.items[i].dump);
		if (events->cpus.items[i].channels[ring])
			perf_channel_enable(events->cpus.items[i].channels[ring]);
	}
}

static void perf_open_disable_all(struct perf_events *events, enum perf_ring ring)
{
	for (size_t i = 0; i < events->cpus.count; i++)
		if (events->cpus.items[i].channels[ring])
			perf_channel_disable(events->cpus.items[i].channels[ring]);
}

/*
 * Some virtual machines accept `cycles` and never deliver a sample. Keeps this CPU busy for 50 ms
 * and returns whether a sample came.
 */
static bool perf_open_probe_delivery(struct perf_events *events)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + PROBE_NS;
	bool any = false;

	perf_open_enable_all(events, PERF_RING_SAMPLES);
	while (clock_ns(CLOCK_MONOTONIC) < end)
		;
	perf_open_disable_all(events, PERF_RING_SAMPLES);
	for (size_t i = 0; i < events->cpus.count && !any; i++)
		any = events->cpus.items[i].channels[PERF_RING_SAMPLES] &&
		      perf_channel_take_sample(events->cpus.items[i].channels[PERF_RING_SAMPLES]);
	return any;
}

static int perf_open_open_cycles(struct perf_events *events, struct error *error)
{
	int r;

	events->event = perf_attr_event("cycles");
	r = events_open_all(events, PERF_RING_SAMPLES, error);
	if (r < 0 || perf_open_probe_delivery(events))
		return r;
	events_close_ring(events, PERF_RING_SAMPLES);
	return error_set(error, -ENOENT,
			 "perf event cycles: this machine delivers none; use cpu-clock");
}

static int perf_open_open_samples(struct perf_events *events, struct error *error)
{
	const char *name = events->options.event;

	if (name && strcmp(name, "cycles") == 0)
		return perf_open_open_cycles(events, error);
	if (!name && perf_open_open_cycles(events, NULL) == 0)
		return 0;
	if (!name)
		events->lacks |= PERF_LACKS_CYCLES;
	events->event = perf_attr_event(name ? name : "cpu-clock");
	if (!events->event)
		return error_set(error, -EINVAL,
				 "event '%s': unknown; record --help lists the events", name);
	return events_open_all(events, PERF_RING_SAMPLES, error);
}

/* Also counts CPUs that are offline, because they may come online. */
static size_t perf_open_present_cpus(const struct perf_events *events)
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

static bool perf_open_has_traced(const struct perf_events *events)
{
	return events->counts[PERF_RING_TRACE] + events->counts[PERF_RING_REQUESTED];
}

/* Returns the number of files for all events and for everything else. */
static rlim_t perf_open_files_needed(const struct perf_events *events)
{
	size_t traced = events->counts[PERF_RING_TRACE] + events->counts[PERF_RING_REQUESTED];
	/* the gauges keep a file open for the CPU's ksoftirqd */
	size_t each = 3 + traced + !!events->options.stack_bytes;

	return each * perf_open_present_cpus(events) + FILES_OTHER;
}

/*
 * Raises the limit of files if the events need more: 448 CPUs need more than the usual 1,024. Root
 * may also raise the hard limit.
 */
static int perf_open_raise_file_limit(struct perf_events *events, struct error *error)
{
	rlim_t needed = perf_open_files_needed(events), wanted = needed + FILES_FD_CACHE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
		return 0;
	limit.rlim_cur = wanted;
	limit.rlim_max = MAX(limit.rlim_max, wanted);
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (events->options.stack_bytes && limit.rlim_cur < needed) {
		events->options.stack_bytes = 0;
		events->lacks |= PERF_LACKS_DUMPS;
		needed = perf_open_files_needed(events);
	}
	if (perf_open_has_traced(events) && limit.rlim_cur < needed) {
		events->counts[PERF_RING_TRACE] = events->counts[PERF_RING_REQUESTED] = 0;
		events->lacks |= PERF_LACKS_TRACE;
	}
	return limit.rlim_cur < 2 * events->cpus.count + FILES_MIN
		       ? perf_events_file_limit_error(events->cpus.count, error)
		       : 0;
}

size_t perf_events_files_left(const struct perf_events *events)
{
	rlim_t needed = perf_open_files_needed(events);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= needed)
		return 0;
	return MIN(limit.rlim_cur - needed, FILES_FD_CACHE);
}

static size_t perf_open_default_ring_bytes(size_t cpus)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	size_t bytes = RING_BYTES;

	while (bytes > RING_BYTES_MIN &&
	       (2 * bytes + bytes / TRACE_RING_SHARE) * cpus > memory / 100)
		bytes /= 2;
	return bytes;
}

int events_read_online(struct perf_events *events)
{
	return source_file_read(&events->online_file, 65536);
}

static int perf_open_find_cpus(struct perf_events *events, struct error *error)
{
	_cleanup_(cpu_list_done) struct cpu_list online = { 0 };
	int r = 0;

	if (events->options.cpus)
		r = cpu_list_parse(events->options.cpus, &events->wanted);
	if (r < 0)
		return error_set(error, r, "--cpus '%s': not a CPU list; write 3 or 0-3,8",
				 events->options.cpus);
	r = events_read_online(events);
	if (r < 0)
		return r;
	r = cpu_list_parse(events->online_file.text, &online);
	for (size_t i = 0; r == 0 && i < online.cpus.count; i++)
		r = array_push(&events->cpus, (struct cpu_events){ .cpu = online.cpus.items[i] });
	for (size_t i = 0; r == 0 && i < events->wanted.cpus.count; i++)
		if (!cpu_list_has(&online, events->wanted.cpus.items[i]))
			r = error_set(
				error, -ENODEV,
				"--cpus: CPU %u is not online; see /sys/devices/system/cpu/online",
				events->wanted.cpus.items[i]);
	return r;
}

static int perf_open_open_rings(struct perf_events *events, struct error *error)
{
	/* Open the side-band first, so that it shows the start of each process that is sampled. */
	int r = events_open_all(events, PERF_RING_SIDEBAND, error);

	if (r < 0)
		return r;
	r = events_collect(events, PERF_RING_SIDEBAND);
	if (r < 0)
		return r;
	r = perf_open_open_samples(events, error);
	if (r < 0)
		return r;
	return events_collect(events, PERF_RING_SAMPLES);
}

/*
 * Opens trace events with the largest rings that the limits allow. If they cannot be opened, the
 * recording goes on without trace events.
 */
static int perf_open_open_traced(struct perf_events *events, enum perf_ring ring)
{
	int r = events_open_all(events, ring, NULL);

	while (r == -ENOBUFS && events->trace_bytes > TRACE_BYTES_MIN) {
		events->trace_bytes /= 2;
		r = events_open_all(events, ring, NULL);
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
	r = perf_open_find_cpus(events, error);
	if (r < 0)
		return r;
	r = perf_open_allocate_attrs(events);
	if (r < 0)
		return r;
	r = perf_open_raise_file_limit(events, error);
	if (r < 0)
		return r;
	events->ring_bytes = options->ring_bytes ? options->ring_bytes
						 : perf_open_default_ring_bytes(events->cpus.count);
	r = perf_open_check_frequency(events, error);
	if (r < 0)
		return r;
	r = perf_open_open_rings(events, error);
	/* If the user did not choose a size, use the largest that the limits allow. */
	while (r == -ENOBUFS && !options->ring_bytes && events->ring_bytes > RING_BYTES_MIN) {
		events_close_ring(events, PERF_RING_SIDEBAND);
		events->ring_bytes /= 2;
		events->lacks |= PERF_LACKS_RINGS;
		r = perf_open_open_rings(events, error);
	}
	if (r < 0)
		return r;
	events->trace_bytes = MAX(events->ring_bytes / TRACE_RING_SHARE, (size_t)TRACE_BYTES_MIN);
	for (int ring = PERF_RING_TRACE; r == 0 && ring < PERF_RING_DUMPS; ring++)
		if (events->counts[ring])
			r = perf_open_open_traced(events, ring);
	if (r < 0)
		return r;
	r = events_open_dumps(events);
	if (r < 0)
		return r;
	perf_attr_describe(events->lacks, &events->lacks_text);
	kernel_support_describe(&events->lacks_text);
	buffer_u8(&events->lacks_text, 0);
	if (buffer_failed(&events->lacks_text))
		return -ENOMEM;
	for (int ring = PERF_RINGS; ring-- > 0;)
		perf_open_enable_all(events, ring);
	*ret_events = take_ptr(events);
	return 0;
}
