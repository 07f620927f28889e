/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The descriptors of all events with their kinds of rings; waits until a ring needs a drain. */

#include <dirent.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "recorder/perf/perf-events.h"

struct perf_poll_file {
	int fd;
	/* One of enum perf_ring. */
	uint8_t ring;
	bool polled;
	/* The kernel's number of the event. */
	uint64_t id;
};

/* Zero it to start. */
struct perf_poll {
	/* /proc/self/fd, kept open because the process may run out of descriptors later. */
	DIR *folder;
	/* All descriptors of events, sorted. */
	array_of(struct perf_poll_file) known;
	/* The descriptors to poll. */
	array_of(struct pollfd) files;
	/* The kind of ring of each entry of `files`. */
	array_of(uint8_t) rings;
};

void perf_poll_done(struct perf_poll *poll);
/*
 * Finds the descriptors that libperf has open and makes them close-on-exec. All other perf events
 * of this process must be close-on-exec from the start. New descriptors belong to rings of kind
 * `fresh`, files_per_ring to each ring. Polls one descriptor of each ring, because the kernel
 * notifies all of them when the ring fills. files_per_ring 0: polls none. Call it after closing
 * events, before opening others. Returns 0 or a negative errno.
 */
int perf_poll_collect(struct perf_poll *poll, enum perf_ring fresh, size_t files_per_ring);
/* Returns the descriptor of an event by the kernel's id, or -1. Valid until the event is closed. */
int perf_poll_find(const struct perf_poll *poll, uint64_t id);
/*
 * Waits for the descriptors. Returns the kinds of rings to drain as a set of 1 << enum perf_ring; 0
 * after the timeout or a signal.
 */
unsigned int perf_poll_wait(struct perf_poll *poll, uint64_t timeout_ns);
