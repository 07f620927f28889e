/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Converts a moment between clocks, by means of a tape's anchors. Between two anchors, every clock
 * advances linearly. Outside of the anchors, a clock keeps the offset that it has at the nearest
 * anchor.
 *
 * A clock was stepped between two anchors if its offsets there differ by more than CLOCKS_STEP_NS:
 * somebody set the wall clock, or the machine slept. Then the step lies at the later anchor. The
 * error of a moment between the two anchors is at least the height of the step.
 */

#include "tape/tape.h"

enum clocks_clock {
	CLOCKS_REALTIME,
	CLOCKS_MONOTONIC,
	CLOCKS_BOOTTIME,
};
#define CLOCKS_COUNT 3

/* A larger change of a clock's offset from one anchor to the next is a step, not slewing. */
#define CLOCKS_STEP_NS 10000000ll

/* A slewed clock gains or loses at most 1 ns per CLOCKS_SLEW ns: NTP's 500 ppm. */
#define CLOCKS_SLEW 2000

/*
 * Converts a moment of the perf clock, which is also the clock of the kernel log's stamps. Returns
 * 0 without anchors, and for a clock that is 0 in the anchors. *ret_error_ns is the larger error of
 * the anchors used; the pointer may be NULL.
 */
uint64_t clocks_from_perf(const struct tape *tape, enum clocks_clock clock, uint64_t perf_ns,
			  uint64_t *ret_error_ns);

/* Returns whether no later moment of the tape has an earlier time on the wall clock. */
bool clocks_wall_rises(const struct tape *tape);

/*
 * Returns the error of a moment that lies `beside_ns` outside of all anchors. The function adds how
 * far the clock may be slewed in that time.
 */
uint64_t clocks_error_beside(uint64_t error_ns, uint64_t beside_ns);

struct clocks_moment {
	uint64_t perf_ns;
	uint64_t error_ns;
};

/* A clock that is set back shows some times twice, and more often if it is set back again. */
#define CLOCKS_MOMENTS_MAX 8

/*
 * Finds the moments of the perf clock at which another clock showed a time, in order. The moments
 * may lie outside of the tape. Returns their number: 0 if the clock was stepped over the time or if
 * the tape lacks anchors, and more than 1 if the clock was set back.
 */
size_t clocks_to_perf(const struct tape *tape, enum clocks_clock clock, uint64_t time_ns,
		      struct clocks_moment moments[CLOCKS_MOMENTS_MAX]);

/*
 * Removes the anchors that the remaining ones reproduce to within `tolerance_ns` on all clocks.
 * Without steps and slewing, only the first and the last one remain. The errors of the remaining
 * anchors grow by the deviation.
 */
void clocks_thin(struct tape *tape, uint64_t tolerance_ns);

/*
 * Computes the earliest and the latest time that the wall clock showed between two moments of the
 * perf clock.
 */
void clocks_span(const struct tape *tape, uint64_t from_perf_ns, uint64_t to_perf_ns,
		 uint64_t *ret_from_ns, uint64_t *ret_to_ns);
