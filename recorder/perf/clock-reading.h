/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Reads all clocks at one moment. A program cannot read the perf clock, but a COMM record has its
 * time. So a reading renames the thread to its present name, and reads the other clocks before and
 * after. The COMM record is in the ring before prctl() returns.
 */

#include <stdbool.h>

#include "base/clock.h"
#include "recorder/perf/perf-record.h"

/*
 * The hypervisor may stop a CPU after it has stamped a record and before the record is visible. So
 * records younger than this wait for the next drain.
 */
#define CLOCK_SETTLE_NS (100 * NSEC_PER_MSEC)

struct clock_reading {
	/* The COMM record supplies perf_ns. */
	struct tape_anchor anchor;
	/* The COMM record has arrived. */
	bool complete;
};

/* Reads the clocks of the present moment, except the perf clock, and makes the COMM record. */
void clock_reading_begin(struct clock_reading *reading);
/*
 * Takes the time from the thread's own COMM record and ignores all other side-band records. Call it
 * in the thread that called clock_reading_begin().
 */
void clock_reading_observe(struct clock_reading *reading, const struct perf_record *record);

/*
 * Returns a perf time; all earlier records are in the rings when a drain begins at monotonic_ns.
 * Computes the time from the last anchor, which is from this drain or some seconds old. The result
 * may be a little early, because adjtime() can slow the monotonic clock, with chrony by at most
 * 1/12.
 */
uint64_t clock_reading_settled(const struct tape_anchor *last, uint64_t monotonic_ns);
/* Returns the present perf time, computed from the last anchor. */
uint64_t clock_reading_now(const struct tape_anchor *last);
