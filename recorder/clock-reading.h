/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * All clocks at one moment. The perf clock cannot be read, but a COMM record carries it: a reading renames the thread to the name that it has, between
 * two looks at the other clocks. The record of that is in the ring before prctl() returns.
 */

#include <stdbool.h>

#include "recorder/perf-record.h"

struct clock_reading {
	struct tape_anchor anchor; /* perf_ns comes with the record */
	bool complete; /* it came */
};

void clock_reading_begin(struct clock_reading *reading);
/* Any record of the sideband: of ours, the time is taken. To be called by the thread that began it. */
void clock_reading_see(struct clock_reading *reading, const struct perf_record *record);
