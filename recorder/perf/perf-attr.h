/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * What is asked of the kernel, and what of it an old one does not know: a ladder that is stepped
 * down one rung at a time.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "recorder/perf/perf-events.h"

/* Bits: what is missing. */
enum perf_rung {
	/* 5.1: names of BPF programs that are loaded later */
	PERF_RUNG_KSYMBOL = 1,
	/* 6.0: how much the kernel lost and has not told yet */
	PERF_RUNG_LOST = 2,
	/* 5.7: in which cgroup a sample was taken */
	PERF_RUNG_CGROUP = 4,
	PERF_RUNG_TRACE =
		/* trace events: perf refuses them, or there is no room for their rings */
	8,
	/* rings as large as usual: the limits leave no room */
	PERF_RUNG_RINGS = 16,
	/* the event: a timer stands in */
	PERF_RUNG_CYCLES = 32,
};

/* An event that can be asked for, NULL when it is not known. */
struct perf_attr_event {
	const char *name;
	uint32_t type;
	uint64_t config;
};
const struct perf_attr_event *perf_attr_event(const char *name);

struct perf_event_attr perf_attr_samples(const struct perf_attr_event *event,
					 const struct perf_events_options *options,
					 size_t ring_bytes, unsigned int missing);
struct perf_event_attr perf_attr_sideband(unsigned int missing);
struct perf_event_attr perf_attr_trace(uint16_t id, size_t ring_bytes, unsigned int missing);

/*
 * What a ring's event does without at each try, from 0 on: nothing, one of its rungs, all of them.
 * A kernel may be built without one that it is new enough for. False: there are no more.
 */
bool perf_attr_try(enum perf_ring ring, unsigned int number, unsigned int *ret_missing);
/* "ksymbol,lost,cgroup" */
void perf_attr_describe(unsigned int missing, struct buffer *text);

struct perf_layout perf_attr_layout(const struct perf_event_attr *attr);
