// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gauge thread reads a tree that does not change, once per second, and the test moves the
 * points into tapes. Only the test moves the clock.
 */
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "recorder/run/gauge-thread.h"
#define FAKE_CLOCK_WAITS
#include "tests/fake-clock.h"
#include "tests/random.h"
#include "tests/tapes.h"
#include "tests/tree.h"
#include "tests/wait.h"

static _Atomic bool starving;

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_realloc(void *old, size_t size)
{
	return starving ? NULL : __real_realloc(old, size);
}

static const struct tape_gauge *find_gauge(const struct tape *tape, const char *name)
{
	for (size_t i = 0; i < tape->gauges.count; i++)
		if (strcmp(strings_at(&tape->strings, tape->gauges.items[i].name), name) == 0)
			return &tape->gauges.items[i];
	return NULL;
}

/*
 * Moves the points that were read into the tape. Returns how many points of the gauge the tape has.
 */
static uint32_t take(struct gauge_thread *thread, struct tape *tape,
		     const struct tape_anchor *anchor, const char *name)
{
	const struct tape_gauge *gauge;

	CHECK_EQ(gauge_thread_take(thread, tape, anchor), 0);
	gauge = find_gauge(tape, name);
	return gauge ? gauge->count : 0;
}

static uint64_t count_reads(struct gauge_thread *thread)
{
	struct recorder_progress progress = { .source_count = 0 };

	gauge_thread_fill(thread, &progress);
	return progress.source_count ? progress.sources[0].reads : 0;
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

/* A point after the end of a tape waits for the next tape, which numbers names anew. */
static void test_take(void)
{
	const uint64_t perf_ns = 1000 * NSEC_PER_SEC;
	struct tape_anchor anchor = { .perf_ns = perf_ns,
				      .monotonic_ns = clock_ns(CLOCK_MONOTONIC) };
	_cleanup_(cleanup_tape) struct tape *first = NULL, *second = NULL;
	_cleanup_(tree_done) struct tree tree;
	struct recorder_progress progress = { .source_count = 0 };
	struct gauge_thread *thread;

	tree_init(&tree);
	tree_put(&tree, "/proc/stat", "cpu0 1 2 3 4 5 6 7 8 9 10\nctxt 5\n");
	tree_put(&tree, "/proc/vmstat", "oom_kill 7\n");
	CHECK_EQ(gauge_thread_start(tree.root, &thread, NULL), 0);
	first = new_tape(1, perf_ns - NSEC_PER_SEC, perf_ns + 3 * NSEC_PER_SEC / 2);
	WAIT_UNTIL(take(thread, first, &anchor, "host/switches") == 1);
	fake_clock_pass(NSEC_PER_SEC);
	WAIT_UNTIL(take(thread, first, &anchor, "host/switches") == 2);
	fake_clock_pass(NSEC_PER_SEC);
	WAIT_UNTIL(count_reads(thread) == 3);
	CHECK_EQ(take(thread, first, &anchor, "host/switches"), 2);
	second = new_tape(2, first->end_ns, first->end_ns + 100 * NSEC_PER_SEC);
	WAIT_UNTIL(take(thread, second, &anchor, "host/switches") == 1);
	fake_clock_pass(NSEC_PER_SEC);
	WAIT_UNTIL(take(thread, second, &anchor, "host/switches") == 2);
	gauge_thread_fill(thread, &progress);
	CHECK_STR(progress.sources[0].name, "cpu");
	CHECK_EQ(progress.sources[0].reads, 4);
	CHECK_EQ(progress.sources[0].failures, 0);
	CHECK(progress.sources[0].cpu_ns > 0);
	CHECK_EQ(gauge_thread_stop(thread, 60 * NSEC_PER_SEC), 0);

	check_points(first, "host/switches", 5);
	check_points(first, "vmstat/oom_kill", 7);
	check_points(second, "host/switches", 5);
	CHECK_EQ(first->points.items[find_gauge(first, "host/switches")->first].time_ns, perf_ns);
	CHECK(second->points.items[find_gauge(second, "host/switches")->first].time_ns >=
	      first->end_ns);
	/* this source is read every ten seconds */
	CHECK_EQ(find_gauge(first, "vmstat/oom_kill")->count, 1);
	CHECK(!find_gauge(second, "vmstat/oom_kill"));
}

/* The wait of a thread that an incident names is read from the next second on. */
static void test_named(void)
{
	const uint64_t perf_ns = 1000 * NSEC_PER_SEC;
	struct tape_anchor anchor = { .perf_ns = perf_ns,
				      .monotonic_ns = clock_ns(CLOCK_MONOTONIC) };
	_cleanup_(cleanup_tape) struct tape *tape =
		new_tape(1, perf_ns - NSEC_PER_SEC, perf_ns + 100 * NSEC_PER_SEC);
	_cleanup_(tree_done) struct tree tree;
	struct gauge_thread *thread;

	tree_init(&tree);
	tree_put(&tree, "/proc/stat", "ctxt 5\n");
	tree_put(&tree, "/proc/77/comm", "raylet\n");
	tree_put(&tree, "/proc/77/schedstat", "1 6000000000 3\n");
	CHECK_EQ(gauge_thread_start(tree.root, &thread, NULL), 0);
	WAIT_UNTIL(take(thread, tape, &anchor, "host/switches") == 1);
	for (int i = 0; i < 40; i++)
		gauge_thread_watch(thread, 77);
	fake_clock_pass(NSEC_PER_SEC);
	WAIT_UNTIL(take(thread, tape, &anchor, "host/switches") == 2);
	check_points(tape, "thread/raylet:77/wait_us", 6000000);
	CHECK_EQ(gauge_thread_stop(thread, 60 * NSEC_PER_SEC), 0);
}

/* A FIFO without a writer stands for a file that hangs. */
static void test_hangs(void)
{
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	_cleanup_(tree_done) struct tree tree;
	struct gauge_thread *thread;
	char path[128];
	int fd;

	tree_init(&tree);
	tree_folder(&tree, "/proc");
	snprintf(path, sizeof(path), "%s/proc/stat", tree.root);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(gauge_thread_start(tree.root, &thread, NULL), 0);
	fake_clock->waits_pass = true;
	CHECK_EQ(gauge_thread_stop(thread, 50 * NSEC_PER_MSEC), -ETIMEDOUT);
	fake_clock->waits_pass = false;
	CHECK_EQ(clock_ns(CLOCK_MONOTONIC) - begin_ns, 50 * NSEC_PER_MSEC);
	/* the file answers, so the thread ends */
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(unlink(path), 0);
	tree_put(&tree, "/proc/stat", "ctxt 5\n");
	close(fd);
	CHECK_EQ(gauge_thread_stop(thread, NSEC_PER_SEC), 0);
}

#define CPUS 40

/*
 * Without memory for new names the thread drops the values that it read, and says so. Later values
 * have the right names.
 */
static void test_starved(void)
{
	const uint64_t perf_ns = 1000 * NSEC_PER_SEC;
	struct tape_anchor anchor = { .perf_ns = perf_ns,
				      .monotonic_ns = clock_ns(CLOCK_MONOTONIC) };
	_cleanup_(cleanup_tape) struct tape *tape =
		new_tape(1, perf_ns - NSEC_PER_SEC, perf_ns + 100 * NSEC_PER_SEC);
	_cleanup_(buffer_done) struct buffer text = { 0 };
	_cleanup_(tree_done) struct tree tree;
	struct gauge_thread *thread;
	struct error trouble = { 0 };

	tree_init(&tree);
	tree_put(&tree, "/proc/stat", "cpu0 1 2 3 4 5 6 7 8 9 10\nctxt 5\n");
	CHECK_EQ(gauge_thread_start(tree.root, &thread, NULL), 0);
	WAIT_UNTIL(take(thread, tape, &anchor, "host/switches") == 1);
	gauge_thread_trouble(thread, &trouble);
	CHECK_STR(trouble.text, "");
	buffer_text(&text, "ctxt 5\n");
	for (int i = 0; i < CPUS; i++)
		buffer_printf(&text, "cpu%d %d 0 %d 0 0 0 0 0 0 0\n", i, 10 * i, 20 * i);
	buffer_u8(&text, 0);
	tree_put(&tree, "/proc/stat", (const char *)text.data);
	starving = true;
	fake_clock_pass(NSEC_PER_SEC);
	WAIT_UNTIL((gauge_thread_trouble(thread, &trouble), *trouble.text));
	starving = false;
	CHECK(strstr(trouble.text, "out of memory"));
	CHECK_EQ(take(thread, tape, &anchor, "host/switches"), 1);
	fake_clock_pass(NSEC_PER_SEC);
	WAIT_UNTIL(take(thread, tape, &anchor, "host/switches") == 2);
	check_points(tape, "host/switches", 5);
	check_points(tape, "cpu39/user_ms", 390 * 1000 / sysconf(_SC_CLK_TCK));
	check_points(tape, "cpu39/system_ms", 780 * 1000 / sysconf(_SC_CLK_TCK));
	CHECK_EQ(gauge_thread_stop(thread, 60 * NSEC_PER_SEC), 0);
}

#define GAUGES 7
#define POINTS 3000

/* Points of many gauges come in random order; the points of each gauge stay in order. */
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

CHECK_MAIN({ "each gauge keeps its points in order", test_runs },
	   { "points go into the tape of their time", test_take },
	   { "a thread that an incident names is read", test_named },
	   { "without memory values are missing, and names are right", test_starved },
	   { "a file that hangs delays the end only as long as allowed", test_hangs })
