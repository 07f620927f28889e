// SPDX-License-Identifier: GPL-2.0-only
/* Figures on their way into tapes: those of a tree that does not change, read in a thread each
 * second. */
#include "tests/check.h"

#include "base/clock.h"
#include "recorder/run/gauge-thread.h"
#include "tests/random.h"
#include "tests/tapes.h"
#include "tests/tree.h"

static const struct tape_gauge *find_gauge(const struct tape *tape, const char *name)
{
	for (size_t i = 0; i < tape->gauges.count; i++)
		if (strcmp(strings_at(&tape->strings, tape->gauges.items[i].name), name) == 0)
			return &tape->gauges.items[i];
	return NULL;
}

/* Takes until the gauge has so many points. */
static void take_points(struct gauge_thread *watch, struct tape *tape,
			const struct tape_anchor *anchor, const char *name, uint32_t count)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	const struct tape_gauge *gauge = NULL;

	for (int i = 0; i < 3000 && (!gauge || gauge->count < count); i++) {
		nanosleep(&pause, NULL);
		CHECK_EQ(gauge_thread_take(watch, tape, anchor), 0);
		gauge = find_gauge(tape, name);
	}
	CHECK(gauge && gauge->count >= count);
}

/* Until nothing more can come that belongs into a tape of that end. */
static void wait_for_end(const struct tape_anchor *anchor, uint64_t end_ns)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	while (clock_ns(CLOCK_MONOTONIC) <
	       anchor->monotonic_ns + (end_ns - anchor->perf_ns) + NSEC_PER_SEC / 10)
		nanosleep(&pause, NULL);
}

static void check_points(const struct tape *tape, const char *name, int64_t value)
{
	const struct tape_gauge *gauge = find_gauge(tape, name);

	CHECK(gauge);
	for (uint32_t i = 0; i < gauge->count; i++) {
		const struct tape_point *point = &tape->points.items[gauge->first + i];

		CHECK_EQ(point->value, value);
		CHECK(point->time_ns < tape->end_ns);
		CHECK(i == 0 || point->time_ns > point[-1].time_ns);
	}
}

static struct tape *new_tape(uint64_t sequence, uint64_t begin_ns, uint64_t end_ns)
{
	struct tape *tape = tapes_bare(begin_ns, end_ns);

	tape->sequence = sequence;
	return tape;
}

/* What is from behind the end of one tape is in the next, under names of its own. */
static void test_take(void)
{
	const uint64_t perf_ns = 1000 * NSEC_PER_SEC;
	struct tape_anchor anchor = { .perf_ns = perf_ns,
				      .monotonic_ns = clock_ns(CLOCK_MONOTONIC) };
	_cleanup_(cleanup_tape) struct tape *first = NULL, *second = NULL;
	_cleanup_(tree_done) struct tree tree;
	struct recorder_progress progress = { .source_count = 0 };
	struct gauge_thread *watch;
	uint64_t last_ns;

	tree_init(&tree);
	tree_put(&tree, "/proc/stat", "cpu0 1 2 3 4 5 6 7 8 9 10\nctxt 5\n");
	tree_put(&tree, "/proc/vmstat", "oom_kill 7\n");
	CHECK_EQ(gauge_thread_start(tree.root, &watch, NULL), 0);
	first = new_tape(1, perf_ns - NSEC_PER_SEC, perf_ns + 3 * NSEC_PER_SEC / 2);
	take_points(watch, first, &anchor, "host/switches", 2);
	/* a figure that was read before the end may come a little behind it */
	wait_for_end(&anchor, first->end_ns + NSEC_PER_SEC / 2);
	CHECK_EQ(gauge_thread_take(watch, first, &anchor), 0);
	second = new_tape(2, first->end_ns, first->end_ns + 100 * NSEC_PER_SEC);
	take_points(watch, second, &anchor, "host/switches", 2);
	for (int i = 0; i < 1000 && !progress.source_count; i++)
		gauge_thread_tell(watch, &progress);
	CHECK_STR(progress.sources[0].name, "cpu");
	CHECK(progress.sources[0].reads >= 4 && progress.sources[0].failures == 0);
	CHECK(progress.sources[0].cpu_ns > 0);
	CHECK_EQ(gauge_thread_stop(watch, 60 * NSEC_PER_SEC), 0);

	check_points(first, "host/switches", 5);
	check_points(first, "vmstat/oom_kill", 7);
	check_points(second, "host/switches", 5);
	last_ns = first->points.items[find_gauge(first, "host/switches")->first].time_ns;
	CHECK(last_ns >= perf_ns - NSEC_PER_SEC);
	CHECK(second->points.items[find_gauge(second, "host/switches")->first].time_ns >=
	      first->end_ns);
	/* each ten seconds: not twice in the same tape, as yet in no other */
	CHECK_EQ(find_gauge(first, "vmstat/oom_kill")->count, 1);
	CHECK(!find_gauge(second, "vmstat/oom_kill"));
}

#define GAUGES 7
#define POINTS 3000

/* Points of many gauges in any order: each has its own, in its own order. */
static void test_runs(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);
	uint32_t rows[GAUGES], counts[GAUGES] = { 0 };
	char name[16];

	for (int i = 0; i < GAUGES; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		CHECK_EQ(tape_add_gauge(tape, name, &rows[i]), 0);
	}
	for (int i = 0; i < POINTS; i++) {
		uint32_t at = random_below(GAUGES);

		CHECK_EQ(tape_add_point(tape, rows[at], i, at * POINTS + counts[at]), 0);
		counts[at]++;
	}
	for (uint32_t at = 0; at < GAUGES; at++) {
		const struct tape_gauge *gauge = &tape->gauges.items[rows[at]];

		CHECK_EQ(gauge->count, counts[at]);
		for (uint32_t i = 0; i < gauge->count; i++)
			CHECK_EQ(tape->points.items[gauge->first + i].value, at * POINTS + i);
	}
	CHECK(tape->points.count < 4 * POINTS);
}

CHECK_MAIN({ "points that come in turns", test_runs }, { "figures of a host", test_take })
