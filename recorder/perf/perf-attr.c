// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/perf-attr.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "unwind/user-registers.h"

static const struct perf_attr_event events[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
};

const char *const *perf_events_known(void)
{
	static const char *names[ARRAY_SIZE(events) + 1];

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		names[i] = events[i].name;
	return names;
}

const struct perf_attr_event *perf_attr_event(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (strcmp(events[i].name, name) == 0)
			return &events[i];
	return NULL;
}

struct perf_event_attr perf_attr_samples(const struct perf_attr_event *event,
					 const struct perf_events_options *options,
					 size_t ring_bytes, unsigned int lacks)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.freq = !options->period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
			       (lacks & PERF_LACKS_CGROUP ? 0 : PERF_SAMPLE_CGROUP),
		/* perf-poll.c needs the id to find the descriptor, which libperf hides */
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID |
			       (lacks & PERF_LACKS_LOST ? 0 : PERF_FORMAT_LOST),
		.sample_id_all = 1,
		.disabled = 1,
		.exclude_callchain_user = options->no_user_stacks,
		.watermark = 1,
		.wakeup_watermark = ring_bytes / 2,
	};

	if (options->period) {
		attr.sample_period = options->period;
	} else if (event->config == PERF_COUNT_SW_CPU_CLOCK && event->type == PERF_TYPE_SOFTWARE) {
		/*
		 * The kernel would convert the frequency to the same period, but it refuses a
		 * frequency above its limit. It may lower that limit at any time, and a CPU that
		 * comes online would then not get events.
		 */
		attr.sample_period = NSEC_PER_SEC / options->frequency;
		attr.freq = 0;
	} else {
		attr.sample_freq = options->frequency;
	}
	return attr;
}

struct perf_event_attr perf_attr_dumps(const struct perf_attr_event *event,
				       const struct perf_events_options *options, size_t ring_bytes,
				       size_t stack_bytes, unsigned int lacks)
{
	struct perf_event_attr attr = perf_attr_samples(event, options, ring_bytes, lacks);

	attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr.sample_regs_user = UNWIND_MACHINE_HERE == UNWIND_ARM64 ? UNWIND_PERF_MASK_ARM64
								    : UNWIND_PERF_MASK_X86_64;
	attr.sample_stack_user = stack_bytes;
	/* the idle thread does not have a user stack, and its samples would displace others */
	attr.exclude_idle = 1;
	return attr;
}

/*
 * Do not ask for build-ids in MMAP2 records; device and inode identify the file, too. The kernel
 * (6.18) would also set the build-id flag in the records of all other listeners. A `perf record`
 * beside us would then write a file on which perf 6.1 crashes.
 */
struct perf_event_attr perf_attr_sideband(unsigned int lacks)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_id_all = 1,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = !(lacks & PERF_LACKS_KSYMBOL),
		.cgroup = !(lacks & PERF_LACKS_CGROUP),
		.watermark = 1,
		/* Wake up at once: a process may be gone 50 ms after its start. */
		.wakeup_watermark = 1,
	};
}

/*
 * The kernel writes a record for each trace event, and does not throttle them. Only the size of the
 * ring bounds the number of records in a storm.
 */
struct perf_event_attr perf_attr_trace(uint16_t id, size_t ring_bytes, unsigned int lacks)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_RAW |
			       (lacks & PERF_LACKS_CGROUP ? 0 : PERF_SAMPLE_CGROUP),
		.sample_id_all = 1,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = ring_bytes / 2,
	};
}

bool perf_attr_try(enum perf_ring ring, unsigned int number, unsigned int *ret_lacks)
{
	/* The first tries leave out the newest feature. */
	static const unsigned int tries[PERF_RINGS][4] = {
		[PERF_RING_SAMPLES] = { 0, PERF_LACKS_LOST, PERF_LACKS_CGROUP,
					PERF_LACKS_LOST | PERF_LACKS_CGROUP },
		[PERF_RING_SIDEBAND] = { 0, PERF_LACKS_CGROUP, PERF_LACKS_KSYMBOL,
					 PERF_LACKS_CGROUP | PERF_LACKS_KSYMBOL },
		[PERF_RING_TRACE] = { 0, PERF_LACKS_CGROUP },
		[PERF_RING_REQUESTED] = { 0, PERF_LACKS_CGROUP },
		/* the events of samples came first, and have already set `lacks` */
		[PERF_RING_DUMPS] = { 0 },
	};

	if (number >= ARRAY_SIZE(tries[ring]))
		return false;
	*ret_lacks = tries[ring][number];
	return true;
}

void perf_attr_describe(unsigned int lacks, struct buffer *text)
{
	static const char *const names[] = { "ksymbol",	    "lost",
					     "cgroup",	    "trace-rings",
					     "ring-size",   "cycles",
					     "stack-dumps", "stack-dumps-together",
					     "stack-bytes" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (lacks & 1u << i)
			buffer_printf(text, "%s%s", text->size ? "," : "", names[i]);
}

struct perf_layout perf_attr_layout(const struct perf_event_attr *attr)
{
	return (struct perf_layout){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.regs_user = attr->sample_regs_user,
		.sample_id_all = attr->sample_id_all,
	};
}
