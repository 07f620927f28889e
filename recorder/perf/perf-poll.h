/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The descriptors of all events, to be waited for, and which kind of ring each has. */

#include <dirent.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "recorder/perf/perf-events.h"

struct perf_poll_file {
	int fd;
	/* enum perf_ring */
	uint8_t ring;
	bool polled;
};

/* Zeroed to start. */
struct perf_poll {
	/* of our descriptors: later there may be none left to look with */
	DIR *folder;
	/* by number */
	array_of(struct perf_poll_file) known;
	/* those that are polled */
	array_of(struct pollfd) files;
	/* of each of these */
	array_of(uint8_t) rings;
};

void perf_poll_done(struct perf_poll *poll);
/*
 * Looks which events libperf has open, after some were opened or closed, and keeps them from
 * children; whoever else opens one has it kept from the start. Those that were not there the last
 * time are of the kind `fresh`, so many to a ring, of which one is polled: all are told when it
 * fills. 0 to a ring: none is. Before others are opened, what was closed must have been noticed. 0
 * or a negative errno.
 */
int perf_poll_collect(struct perf_poll *poll, enum perf_ring fresh, size_t to_a_ring);
/* The kinds of which one wants to be drained, 1 << enum perf_ring each; 0 when the time is over, or
 * a signal came. */
unsigned int perf_poll_wait(struct perf_poll *poll, uint64_t timeout_ns);
