/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Shared by the files of perf_events: perf-open.c opens the events, perf-hotplug.c follows CPUs
 * that come and go, and perf-events.c drains and reports.
 */

#include <stdatomic.h>

#include "base/array.h"
#include "base/bytes.h"
#include "gauges/source.h"
#include "base/cpu-list.h"
#include "recorder/perf/dump-event.h"
#include "recorder/perf/perf-attr.h"
#include "recorder/perf/perf-channel.h"
#include "recorder/perf/perf-events.h"
#include "recorder/perf/perf-poll.h"

struct cpu_events {
	uint32_t cpu;
	/* The CPU went offline. The next drain of all rings closes its events. */
	bool offline;
	/* The CPU delivered a record since the last check. Two threads may empty its rings. */
	_Atomic bool had_record;
	/* The channels by kind of ring; NULL for PERF_RING_DUMPS, whose event is `dump`. */
	struct perf_channel *channels[PERF_RINGS];
	/* The event that copies user stacks; NULL: this CPU does not have one. */
	struct dump_event *dump;
	/* Enabled time of the CPU's event at the last check; 0: not checked yet. */
	uint64_t enabled_ns;
	/* The last time, by the caller's clock, at which the CPU was certainly online. */
	uint64_t online_ns;
};

struct perf_events {
	struct perf_events_options options;
	const struct perf_attr_event *event;
	size_t ring_bytes;
	/* Size of each ring of trace events. */
	size_t trace_bytes;
	/* Bytes of each stack to copy, and size of each ring for the copies; 0: no copies. */
	size_t stack_bytes, dump_bytes;
	/* Bits of enum perf_lack. */
	unsigned int lacks;
	struct buffer lacks_text;
	/* The attributes of the events, and their number, by kind of ring. */
	struct perf_event_attr *attrs[PERF_RINGS];
	size_t counts[PERF_RINGS];
	struct perf_layout layouts[PERF_RINGS];
	/* The CPUs to sample; empty: all. */
	struct cpu_list wanted;
	/* The kernel's list of online CPUs. */
	struct source_file online_file;
	/* The text of that list at the last check; NULL: check it again. */
	char *online;
	array_of(struct cpu_events) cpus;
	struct perf_poll poll;
	/* The members below belong to perf-hotplug.c. */
	/* Time of the last check, by the caller's clock. */
	uint64_t checked_ns;
	/* Time that the machine was suspended since boot. */
	uint64_t slept_ns;
	/* How many of the next checks ask the kernel about all CPUs. */
	unsigned int full_checks;
	/* Index of the CPU at which the next check begins. */
	size_t next_check;
};

/* Returns the events of a CPU, or NULL. Valid until a CPU is added. */
struct cpu_events *events_cpu(const struct perf_events *events, uint32_t cpu);
/* Returns whether the recorder needs events of this kind of ring on the CPU. */
bool events_wants(const struct perf_events *events, enum perf_ring ring, uint32_t cpu);
/*
 * Opens the events of one kind of ring on a CPU and maps the ring, if events_wants() returns true.
 * The events are disabled. Returns 0 or a negative errno.
 */
int events_open_ring(struct perf_events *events, enum perf_ring ring, struct cpu_events *cpu,
		     struct error *error);
/* Returns the size of a CPU's ring of that kind. */
size_t events_ring_bytes(const struct perf_events *events, enum perf_ring ring);
/* Makes the attributes of one kind of ring for the present sizes. */
void events_make_attrs(struct perf_events *events, enum perf_ring ring);
/* Opens the events of one kind of ring on all CPUs, or on none. Returns 0 or a negative errno. */
int events_open_all(struct perf_events *events, enum perf_ring ring, struct error *error);
/* Closes the events of one kind of ring on all CPUs. */
void events_close_ring(struct perf_events *events, enum perf_ring ring);
/* Opens the event that copies stacks on a CPU. Returns 0 or a negative errno. */
int events_open_dump(struct perf_events *events, struct cpu_events *cpu);
/*
 * Opens the events that copy stacks, with the largest copies and rings that memory and the limits
 * allow. If they cannot be opened, samples have the kernel's callers. Returns 0 or -ENOMEM.
 */
int events_open_dumps(struct perf_events *events);
/* Closes all events of a CPU. events_collect() must follow. */
void events_close_cpu(struct cpu_events *cpu);
/*
 * Collects the descriptors to poll. Call it after closing events, or after opening rings of kind
 * `fresh`. Returns 0 or a negative errno.
 */
int events_collect(struct perf_events *events, enum perf_ring fresh);
/* Reads the list of online CPUs into online_file.text. Returns 0 or a negative errno. */
int events_read_online(struct perf_events *events);
