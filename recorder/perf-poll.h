/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* The descriptors of all events, to be waited for, and which kind of ring each has. */

#include <poll.h>
#include <stdint.h>

#include "base/array.h"
#include "recorder/perf-events.h"

/* Zeroed to start. */
struct perf_poll {
	array_of(struct pollfd) files;
	array_of(uint8_t) rings; /* enum perf_ring, of each */
};

void perf_poll_done(struct perf_poll *poll);
/*
 * Looks which events this process has open, after some were opened or closed, and keeps them from children. Those that were not there the
 * last time are of the kind `fresh`: before others are opened, what was closed must have been noticed. 0 or -ENOMEM.
 */
int perf_poll_collect(struct perf_poll *poll, enum perf_ring fresh);
enum perf_wake perf_poll_wait(struct perf_poll *poll, uint64_t timeout_ns);
