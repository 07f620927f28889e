// SPDX-License-Identifier: GPL-2.0-only
#include "tape/clocks.h"

#include <math.h>

#include "base/cleanup.h"

/* The rounding error of a conversion to whole nanoseconds and back. */
#define ROUNDING_NS 2

static uint64_t anchor_time(const struct tape_anchor *anchor, enum clocks_clock clock)
{
	switch (clock) {
	case CLOCKS_MONOTONIC:
		return anchor->monotonic_ns;
	case CLOCKS_BOOTTIME:
		return anchor->boottime_ns;
	case CLOCKS_REALTIME:
		break;
	}
	return anchor->realtime_ns;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* How a clock advances from one anchor to the next. */
struct stretch {
	const struct tape_anchor *from;
	/* Its length on the perf clock. */
	uint64_t length_ns;
	/* The time of the clock at `from`. */
	uint64_t time_ns;
	/* How much the clock gains on the perf clock over the whole stretch. */
	int64_t drift_ns;
	/* The height of the clock's step at the end; drift_ns is then 0. */
	uint64_t step_ns;
	uint64_t error_ns;
};

/* Returns the stretch from anchor i to the next one. */
static struct stretch stretch_at(const struct tape *tape, enum clocks_clock clock, size_t i)
{
	const struct tape_anchor *a = &tape->anchors.items[i], *b = a + 1;
	struct stretch stretch = {
		.from = a,
		.length_ns = b->perf_ns - a->perf_ns,
		.time_ns = anchor_time(a, clock),
		.error_ns = MAX(a->error_ns, b->error_ns),
	};
	uint64_t gain_ns = anchor_time(b, clock) - stretch.time_ns - stretch.length_ns;
	uint64_t height_ns = MIN(gain_ns, -gain_ns);

	if (height_ns > CLOCKS_STEP_NS) {
		stretch.step_ns = height_ns;
		stretch.error_ns = add_capped(stretch.error_ns, height_ns);
	} else {
		stretch.drift_ns = (int64_t)gain_ns;
	}
	return stretch;
}

/*
 * Returns how much the clock gained after a time. Rounds down, so that the clock stays below its
 * value at the end.
 */
static int64_t clocks_gained(const struct stretch *stretch, uint64_t after_ns)
{
	__int128 product = (__int128)stretch->drift_ns * after_ns, whole;
	int64_t small = (int64_t)product, length_ns = (int64_t)stretch->length_ns;

	/* a division of 64 bits takes a third of the time, and queries convert each sample */
	if (small == product && length_ns > 0)
		return small / length_ns - (small % length_ns < 0);
	whole = product / stretch->length_ns;
	return (int64_t)(product % stretch->length_ns < 0 ? whole - 1 : whole);
}

/* Returns the last anchor at or before a moment, or the first one. */
static size_t anchor_before(const struct tape *tape, uint64_t perf_ns)
{
	size_t low = 0, high = tape->anchors.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (tape->anchors.items[middle].perf_ns <= perf_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t clocks_from_perf(const struct tape *tape, enum clocks_clock clock, uint64_t perf_ns,
			  uint64_t *ret_error_ns)
{
	const struct tape_anchor *anchor;
	uint64_t time_ns, error_ns;
	size_t i;

	if (!tape->anchors.count)
		return 0;
	i = anchor_before(tape, perf_ns);
	anchor = &tape->anchors.items[i];
	time_ns = anchor_time(anchor, clock);
	if (!time_ns)
		return 0;
	time_ns += perf_ns - anchor->perf_ns;
	error_ns = anchor->error_ns;
	if (perf_ns > anchor->perf_ns && i + 1 < tape->anchors.count) {
		struct stretch stretch = stretch_at(tape, clock, i);

		time_ns += clocks_gained(&stretch, perf_ns - anchor->perf_ns);
		error_ns = stretch.error_ns;
	}
	if (ret_error_ns)
		*ret_error_ns = error_ns;
	return time_ns;
}

uint64_t tape_to_realtime(const struct tape *tape, uint64_t perf_ns, uint64_t *ret_error_ns)
{
	return clocks_from_perf(tape, CLOCKS_REALTIME, perf_ns, ret_error_ns);
}

bool clocks_wall_rises(const struct tape *tape)
{
	for (size_t i = 1; i < tape->anchors.count; i++) {
		const struct tape_anchor *a = &tape->anchors.items[i - 1], *b = a + 1;
		int64_t perf_ns = b->perf_ns - a->perf_ns;
		int64_t wall_ns = b->realtime_ns - a->realtime_ns;

		if (wall_ns < 0 || perf_ns - wall_ns > CLOCKS_STEP_NS)
			return false;
	}
	return true;
}

uint64_t clocks_error_beside(uint64_t error_ns, uint64_t beside_ns)
{
	return add_capped(error_ns, beside_ns / CLOCKS_SLEW);
}

/* Finds the moment in a stretch, without its end, at which the clock shows a time. */
static bool stretch_moment(const struct stretch *stretch, uint64_t time_ns,
			   struct clocks_moment *ret_moment)
{
	__int128 length_ns = (__int128)stretch->length_ns + stretch->drift_ns;
	__int128 after_ns = (__int128)time_ns - stretch->time_ns;
	uint64_t error_ns = stretch->error_ns;

	/*
	 * a clock that is set back by less than a step, within a stretch that is even shorter, runs
	 * backwards
	 */
	if (after_ns && (after_ns > 0 ? after_ns >= length_ns : after_ns <= length_ns))
		return false;
	if (stretch->drift_ns)
		error_ns = add_capped(error_ns, ROUNDING_NS);
	if (length_ns < stretch->length_ns / 2)
		error_ns = add_capped(error_ns, stretch->length_ns);
	if (length_ns)
		after_ns -= stretch->drift_ns * after_ns / length_ns;
	ret_moment->perf_ns = stretch->from->perf_ns + (uint64_t)after_ns;
	ret_moment->error_ns = error_ns;
	return true;
}

/* Finds a moment before the first anchor, where the clock keeps its offset of that anchor. */
static bool moment_before(const struct tape_anchor *first, uint64_t at_ns, uint64_t time_ns,
			  struct clocks_moment *ret_moment)
{
	if (time_ns >= at_ns || at_ns - time_ns > first->perf_ns)
		return false;
	ret_moment->perf_ns = first->perf_ns - (at_ns - time_ns);
	ret_moment->error_ns = first->error_ns;
	return true;
}

/* Finds a moment after the last anchor, where the clock keeps its offset of that anchor. */
static bool moment_behind(const struct tape_anchor *last, uint64_t at_ns, uint64_t time_ns,
			  struct clocks_moment *ret_moment)
{
	if (time_ns < at_ns)
		return false;
	ret_moment->perf_ns = add_capped(last->perf_ns, time_ns - at_ns);
	ret_moment->error_ns = last->error_ns;
	return true;
}

size_t clocks_to_perf(const struct tape *tape, enum clocks_clock clock, uint64_t time_ns,
		      struct clocks_moment moments[CLOCKS_MOMENTS_MAX])
{
	const struct tape_anchor *anchors = tape->anchors.items;
	size_t count, last;

	if (!tape->anchors.count || !anchor_time(&anchors[0], clock))
		return 0;
	last = tape->anchors.count - 1;
	count = moment_before(&anchors[0], anchor_time(&anchors[0], clock), time_ns, &moments[0]);
	for (size_t i = 0; i < last && count < CLOCKS_MOMENTS_MAX; i++) {
		struct stretch stretch = stretch_at(tape, clock, i);

		count += stretch_moment(&stretch, time_ns, &moments[count]);
	}
	if (count < CLOCKS_MOMENTS_MAX)
		count += moment_behind(&anchors[last], anchor_time(&anchors[last], clock), time_ns,
				       &moments[count]);
	return count;
}

/*
 * For each clock, the range of drifts with which a line from the last kept anchor comes near enough
 * to all anchors after it.
 */
struct cone {
	double low[CLOCKS_COUNT];
	double high[CLOCKS_COUNT];
};

static double drift_between(const struct tape_anchor *a, const struct tape_anchor *b,
			    enum clocks_clock clock)
{
	uint64_t gain_ns =
		anchor_time(b, clock) - anchor_time(a, clock) - (b->perf_ns - a->perf_ns);

	return (double)(int64_t)gain_ns;
}

/*
 * Returns whether the anchors between a and b can be removed. The caller knows that all of these
 * anchors except the last one can be removed. Narrows the cone by b.
 */
static bool cone_reaches(struct cone *cone, const struct tape_anchor *a,
			 const struct tape_anchor *b, double tolerance_ns)
{
	double length_ns = (double)(b->perf_ns - a->perf_ns);

	for (int clock = 0; clock < CLOCKS_COUNT; clock++) {
		double drift_ns = drift_between(a, b, clock), slope = drift_ns / length_ns;

		/* a clock that was not read stands at 0 */
		if (!anchor_time(a, clock) && !anchor_time(b, clock))
			continue;
		/*
		 * keep anchors so near to each other that slewing between them does not look like a
		 * step
		 */
		if (fabs(drift_ns) > CLOCKS_STEP_NS ||
		    fabs(drift_between(b - 1, b, clock)) > CLOCKS_STEP_NS)
			return false;
		if (slope < cone->low[clock] || slope > cone->high[clock])
			return false;
		cone->low[clock] = MAX(cone->low[clock], slope - tolerance_ns / length_ns);
		cone->high[clock] = MIN(cone->high[clock], slope + tolerance_ns / length_ns);
	}
	return true;
}

/*
 * Returns the last anchor to which a line from anchor i comes near enough to all anchors between.
 * The result is at least i + 1.
 */
static size_t clocks_farthest(const struct tape *tape, size_t i, double tolerance_ns)
{
	const struct tape_anchor *anchors = tape->anchors.items;
	struct cone cone;
	size_t to = i + 1;

	for (int clock = 0; clock < CLOCKS_COUNT; clock++) {
		cone.low[clock] = -INFINITY;
		cone.high[clock] = INFINITY;
	}
	while (to < tape->anchors.count &&
	       cone_reaches(&cone, &anchors[i], &anchors[to], tolerance_ns))
		to++;
	return MAX(to - 1, i + 1);
}

/* Returns the largest deviation of the anchors between two others from the line through those. */
static uint64_t worst_between(const struct tape *tape, size_t from, size_t to)
{
	const struct tape_anchor *anchors = tape->anchors.items;
	double length_ns = (double)(anchors[to].perf_ns - anchors[from].perf_ns), worst_ns = 0;

	for (int clock = 0; clock < CLOCKS_COUNT; clock++) {
		double drift_ns = drift_between(&anchors[from], &anchors[to], clock);

		for (size_t i = from + 1; i < to && anchor_time(&anchors[i], clock); i++) {
			double after_ns = (double)(anchors[i].perf_ns - anchors[from].perf_ns);
			double off_ns = drift_between(&anchors[from], &anchors[i], clock) -
					drift_ns * after_ns / length_ns;

			worst_ns = MAX(worst_ns, fabs(off_ns));
		}
	}
	return (uint64_t)worst_ns + (worst_ns > 0);
}

void clocks_thin(struct tape *tape, uint64_t tolerance_ns)
{
	struct tape_anchor *anchors = tape->anchors.items;
	size_t left = 0;

	for (size_t i = 0, to; i < tape->anchors.count; i = to) {
		struct tape_anchor anchor = anchors[i];

		to = i + 1;
		if (to < tape->anchors.count) {
			to = clocks_farthest(tape, i, (double)tolerance_ns);
			anchor.error_ns = add_capped(anchor.error_ns, worst_between(tape, i, to));
		}
		anchors[left++] = anchor;
	}
	tape->anchors.count = left;
}

void clocks_span(const struct tape *tape, uint64_t from_perf_ns, uint64_t to_perf_ns,
		 uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	uint64_t begin_ns = clocks_from_perf(tape, CLOCKS_REALTIME, from_perf_ns, NULL);
	uint64_t end_ns = clocks_from_perf(tape, CLOCKS_REALTIME, to_perf_ns, NULL);
	uint64_t low_ns = MIN(begin_ns, end_ns), high_ns = MAX(begin_ns, end_ns);

	for (size_t i = 0; i < tape->anchors.count; i++) {
		const struct tape_anchor *anchor = &tape->anchors.items[i];

		if (anchor->perf_ns <= from_perf_ns || anchor->perf_ns > to_perf_ns)
			continue;
		/*
		 * a step lies at the later anchor; before the step, the clock continued from the
		 * earlier anchor
		 */
		end_ns = clocks_from_perf(tape, CLOCKS_REALTIME, anchor->perf_ns - 1, NULL);
		low_ns = MIN(low_ns, anchor->realtime_ns);
		high_ns = MAX(high_ns, MAX(end_ns, anchor->realtime_ns));
	}
	*ret_from_ns = low_ns;
	*ret_to_ns = high_ns;
}
