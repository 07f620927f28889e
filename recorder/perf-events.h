/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * The rings of all CPUs: one set for samples, one of its own for comm, fork, exit and mmap records (the sideband), so that neither
 * can push the other out. libperf is included by perf-events.c alone, and its three ways of failing end there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "recorder/perf-record.h"

struct perf_events;

enum perf_ring {
	PERF_RING_SAMPLES = 0,
	PERF_RING_SIDEBAND = 1,
};
#define PERF_RINGS 2

struct perf_events_options {
	unsigned int frequency;
	bool user_stacks;
	size_t ring_bytes; /* each, a power of two of pages */
};

/*
 * Opens and starts the events on all online CPUs: `cycles` where 50 ms of work really give samples, else `cpu-clock`.
 * -EACCES or -EPERM name the right that is missing, -EINVAL the sysctl that forbids the frequency, -EMFILE the limit.
 */
int perf_events_open(const struct perf_events_options *options, struct perf_events **ret_events,
	struct error *error);
struct perf_events *perf_events_close(struct perf_events *events);
DEFINE_CLEANUP(perf_events, struct perf_events *, perf_events_close)

/* No more samples after this; what is in the rings can still be drained. */
void perf_events_stop(struct perf_events *events);

/* "cycles" or "cpu-clock". */
const char *perf_events_name(const struct perf_events *events);
unsigned int perf_events_cpus(const struct perf_events *events);
const struct perf_layout *perf_events_layout(const struct perf_events *events, enum perf_ring ring);

/*
 * Hands over what is in the rings, ring by ring; a record is valid during the call. At most one ring's size of each, so that this ends
 * also when the kernel adds faster than we take. A negative answer of `give` ends it and is handed on.
 */
int perf_events_drain(struct perf_events *events,
	int (*give)(void *context, enum perf_ring ring, const uint8_t *record, size_t size),
	void *context);

/* Sleeps until a ring is half full, a signal came, or the time is over. */
void perf_events_wait(struct perf_events *events, uint64_t timeout_ns);
