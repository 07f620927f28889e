/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * All clocks at one moment. The perf clock cannot be read, but a COMM record carries it: a reading
 * renames the thread to the name that it has, between two looks at the other clocks. The record of
 * that is in the ring before prctl() returns.
 */

#include <stdbool.h>

#include "base/clock.h"
#include "recorder/perf/perf-record.h"

/* A CPU may be taken from us between stamping a record and making it visible. What is younger waits
 * for the next drain. */
#define CLOCK_SETTLE_NS (100 * NSEC_PER_MSEC)

struct clock_reading {
	/* perf_ns comes with the record */
	struct tape_anchor anchor;
	/* it came */
	bool complete;
};

void clock_reading_begin(struct clock_reading *reading);
/* Any record of the sideband: of ours, the time is taken. To be called by the thread that began it.
 */
void clock_reading_see(struct clock_reading *reading, const struct perf_record *record);

/*
 * The moment of the perf clock before which all is there, when a drain begins at that moment of the
 * monotonic clock: by the last anchor, which is of this drain, or some seconds old. It is a little
 * too early then, as the monotonic clock may be slewed, by a twelfth at most where chrony does it.
 */
uint64_t clock_reading_settled(const struct tape_anchor *last, uint64_t monotonic_ns);
/* What the perf clock shows now, by the last anchor. */
uint64_t clock_reading_now(const struct tape_anchor *last);
