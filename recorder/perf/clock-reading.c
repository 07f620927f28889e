// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/clock-reading.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "base/mutation.h"

/*
 * With an anchor older than this, the settled time stays, and drained records wait for the next
 * anchor.
 */
#define ANCHOR_OLD_NS (2 * NSEC_PER_SEC)

void clock_reading_begin(struct clock_reading *reading)
{
	struct tape_anchor *anchor = &reading->anchor;
	uint64_t before = clock_ns(CLOCK_MONOTONIC), after, realtime, boottime;

	prctl(PR_SET_NAME, "perftape");
	realtime = clock_ns(CLOCK_REALTIME);
	boottime = clock_ns(CLOCK_BOOTTIME);
	after = clock_ns(CLOCK_MONOTONIC);
	/*
	 * The kernel wrote the COMM record near the middle between `before` and `after`; the other
	 * clocks were read near `after`.
	 */
	anchor->error_ns = (after - before) / 2;
	anchor->monotonic_ns = before + anchor->error_ns;
	anchor->realtime_ns = realtime - anchor->error_ns;
	anchor->boottime_ns = boottime - anchor->error_ns;
	if (mutated("shift-clock"))
		anchor->realtime_ns += 2 * NSEC_PER_MSEC;
	reading->complete = false;
}

void clock_reading_observe(struct clock_reading *reading, const struct perf_record *record)
{
	if (record->type != PERF_TYPE_COMM || record->comm.tid != gettid())
		return;
	reading->anchor.perf_ns = record->time_ns;
	reading->complete = true;
}

uint64_t clock_reading_settled(const struct tape_anchor *last, uint64_t monotonic_ns)
{
	uint64_t since_ns = monotonic_ns - MIN(monotonic_ns, last->monotonic_ns);

	since_ns = MIN(since_ns, ANCHOR_OLD_NS);
	return last->perf_ns - MIN(last->perf_ns, CLOCK_SETTLE_NS) + since_ns - since_ns / 8;
}

uint64_t clock_reading_now(const struct tape_anchor *last)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	return last->perf_ns + now - MIN(now, last->monotonic_ns);
}
