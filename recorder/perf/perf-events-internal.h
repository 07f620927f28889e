/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the files of the events share: perf-open.c opens them, perf-hotplug.c follows CPUs that come
 * and go, perf-events.c drains and tells. */

#include "base/array.h"
#include "base/bytes.h"
#include "gauges/source.h"
#include "base/cpu-list.h"
#include "recorder/perf/perf-attr.h"
#include "recorder/perf/perf-channel.h"
#include "recorder/perf/perf-events.h"
#include "recorder/perf/perf-poll.h"

struct cpu_events {
	uint32_t cpu;
	/* it went offline: drained once more, then closed */
	bool gone;
	/* a record came since the last look */
	bool heard;
	struct perf_channel *channels[PERF_RINGS];
	/* as its event counted when it was asked last; 0: never */
	uint64_t enabled_ns;
	/* the caller's clock: it was there then, for sure */
	uint64_t alive_ns;
};

struct perf_events {
	struct perf_events_options options;
	const struct perf_attr_event *event;
	size_t ring_bytes;
	/* of each ring of trace events */
	size_t trace_bytes;
	/* enum perf_rung */
	unsigned int lacks;
	struct buffer lacks_text;
	/* of each kind of ring what is opened; none of those that are not there */
	struct perf_event_attr *attrs[PERF_RINGS];
	size_t counts[PERF_RINGS];
	struct perf_layout layouts[PERF_RINGS];
	/* without any: all */
	struct cpu_list wanted;
	/* the list of those that are online */
	struct source_file online_file;
	/* what it said; NULL: it is to be looked at anew */
	char *online;
	array_of(struct cpu_events) cpus;
	struct perf_poll poll;
	/* perf-hotplug.c's */
	/* when it looked last, by the caller's clock */
	uint64_t looked_ns;
	/* how long the machine has slept since the boot */
	uint64_t slept_ns;
	/* so many more looks ask all CPUs */
	unsigned int doubted;
	/* the CPU that is asked next */
	size_t asked;
};

struct cpu_events *events_cpu(const struct perf_events *events, uint32_t cpu);
/* Are there to be events of this kind on the CPU? */
bool events_wants(const struct perf_events *events, enum perf_ring ring, uint32_t cpu);
int events_open_ring(struct perf_events *events, enum perf_ring ring, struct cpu_events *cpu,
		     struct error *error);
void events_close_cpu(struct cpu_events *cpu);
/* After some were closed, or rings of one kind were opened: who wakes us. 0 or a negative errno. */
int events_collect(struct perf_events *events, enum perf_ring fresh);
/* The list of online CPUs into online_file.text. */
int events_read_online(struct perf_events *events);
