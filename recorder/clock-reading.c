// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/clock-reading.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"

void clock_reading_begin(struct clock_reading *reading)
{
	struct tape_anchor *anchor = &reading->anchor;
	uint64_t before = clock_ns(CLOCK_MONOTONIC), after, realtime, boottime;

	prctl(PR_SET_NAME, "perftape");
	realtime = clock_ns(CLOCK_REALTIME);
	boottime = clock_ns(CLOCK_BOOTTIME);
	after = clock_ns(CLOCK_MONOTONIC);
	/* the record was written about in the middle of the bracket, the other clocks were read at its end */
	anchor->error_ns = (after - before) / 2;
	anchor->monotonic_ns = before + anchor->error_ns;
	anchor->realtime_ns = realtime - anchor->error_ns;
	anchor->boottime_ns = boottime - anchor->error_ns;
	reading->complete = false;
}

void clock_reading_see(struct clock_reading *reading, const struct perf_record *record)
{
	if (record->type != PERF_TYPE_COMM || record->comm.tid != gettid())
		return;
	reading->anchor.perf_ns = record->time_ns;
	reading->complete = true;
}
