/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * One moment on several clocks, through a tape's anchors. Between two anchors every clock runs on a
 * line; outside of them, as at the nearest one. Where a clock was stepped between two anchors
 * (their offsets differ by over CLOCKS_STEP_NS: the wall clock was set, or the machine slept) the
 * step lies at the later one, and the stated error of a moment between the two is at least the
 * height of the step.
 */

#include "tape/tape.h"

enum clocks_clock {
	CLOCKS_REALTIME,
	CLOCKS_MONOTONIC,
	CLOCKS_BOOTTIME,
};
#define CLOCKS_COUNT 3

/* Beyond this, a clock was stepped between two anchors, not slewed. */
#define CLOCKS_STEP_NS 10000000ll

/* A slewed clock gains or loses a nanosecond in so many at the most: NTP's 500 ppm. */
#define CLOCKS_SLEW 2000

/*
 * From the perf clock, which is also that of the kernel log's stamps. Without anchors 0; also for a
 * clock that they do not have, which stands at 0 in them. *ret_error_ns is the larger one of the
 * anchors that were used; it may be NULL.
 */
uint64_t clocks_from_perf(const struct tape *tape, enum clocks_clock clock, uint64_t perf_ns,
			  uint64_t *ret_error_ns);

/* What a moment so far outside of all anchors may be off, by how far a clock may have been slewed
 * until then. */
uint64_t clocks_error_beside(uint64_t error_ns, uint64_t beside_ns);

struct clocks_moment {
	uint64_t perf_ns;
	uint64_t error_ns;
};

/* A clock that is set back shows one time twice, and more often when it is set back again. */
#define CLOCKS_MOMENTS_MAX 8

/*
 * The moments of the perf clock at which another clock showed a time, in order; also outside of the
 * tape's begin and end, by its first and last anchor. How many: 0 where that time was stepped over
 * (or there are no anchors), more than one where the clock was set back.
 */
size_t clocks_to_perf(const struct tape *tape, enum clocks_clock clock, uint64_t time_ns,
		      struct clocks_moment moments[CLOCKS_MOMENTS_MAX]);

/*
 * Takes out the anchors that those left give to within tolerance_ns, on all clocks: without steps
 * and slews, all but the first and the last. The error of those left grows by what they are off.
 */
void clocks_thin(struct tape *tape, uint64_t tolerance_ns);

/* What of the wall clock lies between two moments of the perf clock: the least and the most that it
 * showed. */
void clocks_span(const struct tape *tape, uint64_t from_perf_ns, uint64_t to_perf_ns,
		 uint64_t *ret_from_ns, uint64_t *ret_to_ns);
