// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands/self-report.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/size.h"
#include "cli/answer/recorder-text.h"
#include "cli/answer/screen.h"
#include "cli/version.h"
#include "recorder/perf/perf-events.h"
#include "recorder/perf/sampling-cost.h"
#include "recorder/run/capabilities.h"
#include "recorder/run/recorder.h"
#include "recorder/run/rights.h"
#include "recorder/trace/trace-set.h"

#define FILE_BYTES (1u << 20)
/* Time for which to try each event. */
#define TRY_NS (200 * NSEC_PER_MSEC)
#define WORK_BYTES (64u << 10)

/* Reads the first line of a file of the kernel; "-" if that is not possible. */
static const char *self_report_line(const char *path, char line[256])
{
	_cleanup_free_ char *text = NULL;

	snprintf(line, 256, "-");
	if (file_read(path, FILE_BYTES, &text, NULL) < 0)
		return line;
	text[strcspn(text, "\n")] = 0;
	snprintf(line, 256, "%s", *text ? text : "-");
	return line;
}

/* Finds the line "NAME", `between`, "VALUE" in a file, and returns its value. */
static const char *self_report_value(const char *path, const char *name, const char *between,
				     char value[256])
{
	_cleanup_free_ char *text = NULL;
	char *at, *rest = NULL;

	snprintf(value, 256, "-");
	if (file_read(path, FILE_BYTES, &text, NULL) < 0)
		return value;
	for (at = strtok_r(text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(at, name, strlen(name)) != 0)
			continue;
		at += strlen(name);
		snprintf(value, 256, "%s", at + strspn(at, between));
		value[strcspn(value, "\"")] = 0;
		break;
	}
	return value;
}

/* Returns whether this machine is virtual. A CPU under a hypervisor has the flag "hypervisor". */
static bool self_report_is_virtual(void)
{
	_cleanup_free_ char *text = NULL;

	return file_exists("/sys/hypervisor/type") ||
	       (file_read("/proc/cpuinfo", FILE_BYTES, &text, NULL) == 0 &&
		strstr(text, " hypervisor"));
}

static void self_report_host(struct field_lines *fields)
{
	char a[256], b[256], memory[32];
	struct utsname kernel;

	field_line(fields, "perftape", "%s", PERFTAPE_VERSION);
	if (uname(&kernel) == 0)
		field_line(fields, "kernel", "%s %s, %s", kernel.release, kernel.machine,
			   kernel.version);
	field_line(fields, "system", "%s",
		   self_report_value("/etc/os-release", "PRETTY_NAME", "=\"", a));
	field_line(fields, "CPUs", "%ld online of %ld; %s", sysconf(_SC_NPROCESSORS_ONLN),
		   sysconf(_SC_NPROCESSORS_CONF),
		   self_report_value("/proc/cpuinfo", "model name", "\t :", a));
	field_line(fields, "machine", "%s%s; memory %s",
		   self_report_line("/sys/class/dmi/id/product_name", b),
		   self_report_is_virtual() ? ", virtual" : "",
		   size_format((uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), memory,
			       sizeof(memory)));
}

/* Lists the sources of events, which the kernel names after the hardware. */
static void self_report_sources(struct field_lines *fields)
{
	DIR *dir = opendir("/sys/bus/event_source/devices");
	struct dirent *entry;
	size_t count = 0;

	if (!dir)
		return;
	field_begin(fields, "sources");
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			field_add(fields, "%s%s", count++ ? ", " : "", entry->d_name);
	field_end(fields);
	closedir(dir);
}

/* Uses CPU time, pages and context switches, so that each event has something to count. */
static void self_report_work(void)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + TRY_NS;
	volatile unsigned int sum = 0;

	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		char *pages = mmap(NULL, WORK_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages != MAP_FAILED) {
			memset(pages, 1, WORK_BYTES);
			munmap(pages, WORK_BYTES);
		}
		for (unsigned int i = 0; i < 100000; i++)
			sum += i;
		nanosleep(&(struct timespec){ 0, 1 }, NULL);
	}
}

static int self_report_count(void *context, enum perf_ring ring, const uint8_t *record, size_t size)
{
	uint64_t *samples = context;
	uint32_t type;

	if (size < sizeof(type))
		return 0;
	memcpy(&type, record, sizeof(type));
	*samples += ring == PERF_RING_SAMPLES && type == PERF_RECORD_SAMPLE;
	return 0;
}

static void self_report_event(struct field_lines *fields, const char *label, const char *name)
{
	const struct perf_events_options options = { .event = name,
						     .frequency = RECORDER_FREQUENCY };
	_cleanup_(cleanup_perf_events) struct perf_events *events = NULL;
	struct error error = { 0 };
	uint64_t samples = 0;
	int r = perf_events_open(&options, &events, &error);

	if (r < 0) {
		field_line(fields, label, "%s: %s", name, *error.text ? error.text : strerror(-r));
		return;
	}
	self_report_work();
	perf_events_stop(events);
	perf_events_drain(events, PERF_ALL_RINGS, self_report_count, &samples);
	field_line(fields, label, "%s: opens on %u CPU%s, %llu samples in %llu ms%s", name,
		   perf_events_cpus(events), plural(perf_events_cpus(events)),
		   (unsigned long long)samples, (unsigned long long)(TRY_NS / NSEC_PER_MSEC),
		   samples ? "" : ": it does not sample here");
}

static void self_report_events(struct field_lines *fields)
{
	const char *const *names = perf_events_known();

	self_report_sources(fields);
	for (size_t i = 0; names[i]; i++)
		self_report_event(fields, i ? "" : "events", names[i]);
}

/* Prints the event that a recording would choose, and the features that it would lack. */
static void self_report_choice(struct field_lines *fields)
{
	const struct perf_events_options options = { .frequency = RECORDER_FREQUENCY };
	_cleanup_(cleanup_perf_events) struct perf_events *events = NULL;
	_cleanup_(cleanup_trace_set) struct trace_set *set = NULL;
	_cleanup_(buffer_done) struct buffer lacks = { 0 };
	struct error error = { 0 };
	uint64_t all = 0;
	size_t ring;
	char one[32], sum[32];

	if (perf_events_open(&options, &events, &error) < 0) {
		field_line(fields, "chosen", "nothing can be recorded: %s", error.text);
		return;
	}
	ring = perf_events_ring_bytes(events, &all);
	field_line(fields, "chosen", "%s; rings of %s, %s in all", perf_events_name(events),
		   size_format(ring, one, sizeof(one)), size_format(all, sum, sizeof(sum)));
	recorder_text_lacks(fields, perf_events_lacks(events));
	if (trace_set_open("", NULL, &set, &lacks, &error) == 0)
		recorder_text_lacks(fields, buffer_shown(&lacks));
	else
		field_line(fields, "without", "trace events: %s", error.text);
}

static void self_report_rights(struct field_lines *fields)
{
	static const struct {
		unsigned int number;
		const char *name;
	} wanted[] = {
		{ 38, "PERFMON" },	  { 21, "SYS_ADMIN" },		{ 19, "SYS_PTRACE" },
		{ 2, "DAC_READ_SEARCH" }, { 40, "CHECKPOINT_RESTORE" }, { 34, "SYSLOG" },
		{ 14, "IPC_LOCK" },
	};
	struct error error = { 0 };
	uint64_t permitted = 0;

	capabilities_permitted(&permitted);
	field_begin(fields, "rights");
	field_add(fields, "%s;", geteuid() == 0 ? "root" : "not root");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		field_add(fields, " %s %s%s", wanted[i].name,
			  permitted >> wanted[i].number & 1 ? "yes" : "no",
			  i + 1 < ARRAY_SIZE(wanted) ? "," : "");
	field_end(fields);
	if (rights_see_host(&error) < 0)
		field_line(fields, "", "%s", error.text);
}

static void self_report_limit(struct field_lines *fields, const char *name, int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		field_add(fields, "%s unlimited; ", name);
	else
		field_add(fields, "%s %llu; ", name, (unsigned long long)limit.rlim_cur);
}

static void self_report_limits(struct field_lines *fields)
{
	static const char *const settings[] = {
		"perf_event_paranoid", "kptr_restrict",	       "perf_event_max_sample_rate",
		"perf_event_mlock_kb", "perf_event_max_stack", "perf_cpu_time_max_percent",
		"dmesg_restrict"
	};
	char path[128], value[256];

	field_begin(fields, "settings");
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		snprintf(path, sizeof(path), "/proc/sys/kernel/%s", settings[i]);
		field_add(fields, "%s%s %s", i ? ", " : "", settings[i],
			  self_report_line(path, value));
	}
	field_end(fields);
	field_begin(fields, "limits");
	self_report_limit(fields, "MEMLOCK", RLIMIT_MEMLOCK);
	self_report_limit(fields, "NOFILE", RLIMIT_NOFILE);
	field_add(fields, "lockdown %s", self_report_line("/sys/kernel/security/lockdown", value));
	field_end(fields);
}

static void self_report_clocks(struct field_lines *fields)
{
	char source[256], others[256], nohz[256];
	struct timespec step = { 0 };

	clock_getres(CLOCK_MONOTONIC, &step);
	field_line(
		fields, "clocks", "%s of %s; a step is %ld ns; nohz_full %s",
		self_report_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
				 source),
		self_report_line(
			"/sys/devices/system/clocksource/clocksource0/available_clocksource",
			others),
		step.tv_nsec, self_report_line("/sys/devices/system/cpu/nohz_full", nohz));
}

static void self_report_cost(struct field_lines *fields)
{
	static const _Atomic bool never;
	struct sampling_cost cost = { 0 };
	int r = sampling_cost_measure(&never, &cost);

	if (r < 0)
		field_line(fields, "cost", "not measured: %s", strerror(-r));
	else
		field_line(fields, "cost", "%.1f us of the kernel a sample, %.1f ns a caller",
			   cost.sample_ns / 1e3, cost.frame_ps / 1e3);
}

/* Prints the figures of a running recorder, which cover a longer time. */
static void self_report_recorder(const struct invocation *invocation, struct field_lines *fields)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	const struct recorder_progress *progress;
	struct recorder_text text = { 0 };
	char elapsed[32], memory[32];

	if (store_reader_open(store_path(invocation), &reader, NULL) < 0 ||
	    recorder_text_read(reader, store_reader_recorder(reader, NULL), &text) < 0 ||
	    !text.running) {
		field_line(fields, "recorder", "none that this user can see");
		return;
	}
	progress = &text.progress;
	field_line(fields, "recorder",
		   "%s at %llu Hz for %s: %llu samples, %llu lost, %llu skipped, %llu unsaved",
		   progress->event, (unsigned long long)progress->frequency,
		   duration_format(progress->elapsed_ns, elapsed, sizeof(elapsed)),
		   (unsigned long long)progress->samples, (unsigned long long)progress->lost,
		   (unsigned long long)progress->skipped, (unsigned long long)progress->unsaved);
	field_line(fields, "", "CPU %.2f %%, memory %s, drain at most %.0f ms late",
		   100.0 * progress->cpu_ns / MAX(progress->elapsed_ns, 1ull),
		   size_format(progress->memory_bytes, memory, sizeof(memory)),
		   progress->late_peak_ns / 1e6);
}

int self_report(const struct invocation *invocation)
{
	_cleanup_(field_lines_done) struct field_lines fields = { 0 };
	struct terminal terminal;
	int r = screen_read(invocation, &terminal);

	if (r != EXIT_DONE)
		return r;
	field_lines_init(&fields);
	self_report_host(&fields);
	self_report_events(&fields);
	self_report_choice(&fields);
	self_report_rights(&fields);
	self_report_limits(&fields);
	self_report_clocks(&fields);
	self_report_cost(&fields);
	self_report_recorder(invocation, &fields);
	return screen_print_drawing(&terminal, &fields.lines);
}
