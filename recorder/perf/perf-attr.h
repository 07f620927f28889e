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

/* Bits: what is lacks. */
enum perf_lack {
	/* 5.1: names of BPF programs that are loaded later */
	PERF_LACKS_KSYMBOL = 1,
	/* 6.0: how much the kernel lost and has not told yet */
	PERF_LACKS_LOST = 2,
	/* 5.7: in which cgroup a sample was taken */
	PERF_LACKS_CGROUP = 4,
	/* trace events: perf refuses them, or there is no room for their rings */
	PERF_LACKS_TRACE = 8,
	/* rings as large as usual: the limits leave no room */
	PERF_LACKS_RINGS = 16,
	/* the event: a timer stands in */
	PERF_LACKS_CYCLES = 32,
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
					 size_t ring_bytes, unsigned int lacks);
struct perf_event_attr perf_attr_sideband(unsigned int lacks);
struct perf_event_attr perf_attr_trace(uint16_t id, size_t ring_bytes, unsigned int lacks);

/*
 * What a ring's event does without at each try, from 0 on: nothing, one of its lacks, all of them.
 * A kernel may be built without one that it is new enough for. False: there are no more.
 */
bool perf_attr_try(enum perf_ring ring, unsigned int number, unsigned int *ret_lacks);
/* "ksymbol,lost,cgroup" */
void perf_attr_describe(unsigned int lacks, struct buffer *text);

struct perf_layout perf_attr_layout(const struct perf_event_attr *attr);
