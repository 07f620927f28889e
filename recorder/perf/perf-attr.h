/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The attributes of all events. An older kernel refuses some of them, so each event has several
 * tries, each of which leaves out different features.
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
	/*
	 * Since Linux 6.0: the kernel's count of records that it dropped, also of those that it did
	 * not report yet.
	 */
	PERF_LACKS_LOST = 2,
	/* Since Linux 5.7: the cgroup of a sample. */
	PERF_LACKS_CGROUP = 4,
	/* Trace events: perf refuses to open them, or their rings exceed a limit. */
	PERF_LACKS_TRACE = 8,
	/* Rings of the usual size: a limit of locked memory allows only smaller ones. */
	PERF_LACKS_RINGS = 16,
	/* The event `cycles`: the recorder uses cpu-clock in its place. */
	PERF_LACKS_CYCLES = 32,
};

/* Returns the event of that name, or NULL if it is unknown. */
struct perf_attr_event {
	const char *name;
	uint32_t type;
	uint64_t config;
};
const struct perf_attr_event *perf_attr_event(const char *name);

/* These functions return the attribute of one event, without the features in `lacks`. */
struct perf_event_attr perf_attr_samples(const struct perf_attr_event *event,
					 const struct perf_events_options *options,
					 size_t ring_bytes, unsigned int lacks);
struct perf_event_attr perf_attr_sideband(unsigned int lacks);
struct perf_event_attr perf_attr_trace(uint16_t id, size_t ring_bytes, unsigned int lacks);

/*
 * Sets *ret_lacks to the features that try `number` leaves out: none at try 0, then single ones,
 * then all. A kernel may lack any of them, whatever its version. Returns false after the last try.
 */
bool perf_attr_try(enum perf_ring ring, unsigned int number, unsigned int *ret_lacks);
/* Appends the names of the features, such as "ksymbol,lost,cgroup", to a comma-separated list. */
void perf_attr_describe(unsigned int lacks, struct buffer *text);

/* Returns the layout of the records of an event. */
struct perf_layout perf_attr_layout(const struct perf_event_attr *attr);
