/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The attributes of all events. An older kernel refuses some attributes, so each event has several
 * tries; each try leaves out different features.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "recorder/perf/perf-events.h"

/* Each bit is a feature that this kernel or this process lacks. */
enum perf_lack {
	/* Since Linux 5.1: the names of BPF programs that are loaded during the recording. */
	PERF_LACKS_KSYMBOL = 1,
	/* Since Linux 6.0: the kernel's count of all records that it dropped, reported or not. */
	PERF_LACKS_LOST = 2,
	/* Since Linux 5.7: the cgroup of a sample. */
	PERF_LACKS_CGROUP = 4,
	/* Trace events: perf refuses to open them, or their rings exceed a limit. */
	PERF_LACKS_TRACE = 8,
	/* Rings of the usual size: a limit of locked memory allows only smaller rings. */
	PERF_LACKS_RINGS = 16,
	/* The event `cycles`: the recorder uses cpu-clock in its place. */
	PERF_LACKS_CYCLES = 32,
	/* Copies of user stacks: the kernel cannot make them, or their rings exceed a limit. */
	PERF_LACKS_DUMPS = 64,
	/*
	 * A sample and the copy of its stack from the same interrupt: the kernel takes them in two.
	 */
	PERF_LACKS_DUMPS_TOGETHER = 128,
	/* Copies of the requested size: the memory allows only smaller copies. */
	PERF_LACKS_DUMPS_SIZE = 256,
};

/* An event that can take the samples. */
struct perf_attr_event {
	const char *name;
	uint32_t type;
	uint64_t config;
};
/* Returns the event of that name, or NULL if it is unknown. */
const struct perf_attr_event *perf_attr_event(const char *name);

/* These functions return the attributes of one event, without the features in `lacks`. */
struct perf_event_attr perf_attr_samples(const struct perf_attr_event *event,
					 const struct perf_events_options *options,
					 size_t ring_bytes, unsigned int lacks);
/*
 * The same event, whose records also have the user's registers and `stack_bytes` of its stack. It
 * does not count on an idle CPU.
 */
struct perf_event_attr perf_attr_dumps(const struct perf_attr_event *event,
				       const struct perf_events_options *options, size_t ring_bytes,
				       size_t stack_bytes, unsigned int lacks);
struct perf_event_attr perf_attr_sideband(unsigned int lacks);
struct perf_event_attr perf_attr_trace(uint16_t id, size_t ring_bytes, unsigned int lacks);

/*
 * Sets *ret_lacks to the features that try `number` leaves out: none at try 0, then one feature,
 * then all. A kernel of any version may lack any of the features. Returns false after the last try.
 */
bool perf_attr_try(enum perf_ring ring, unsigned int number, unsigned int *ret_lacks);
/* Appends the names of the features, such as "ksymbol,lost,cgroup", to a comma-separated list. */
void perf_attr_describe(unsigned int lacks, struct buffer *text);

/* Returns the layout of the records of an event. */
struct perf_layout perf_attr_layout(const struct perf_event_attr *attr);
