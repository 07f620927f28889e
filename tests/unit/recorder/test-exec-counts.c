// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <stdlib.h>

#include "recorder/trace/exec-counts.h"

#define SECOND_NS 1000000000ull
#define HEX32 "0f7f6ad54a1f2a1c3b27e5d81a0ac5a3"

static const struct tape_gauge *gauge(const struct tape *tape, const char *name)
{
	for (size_t i = 0; i < tape->gauges.count; i++)
		if (strcmp(tape_string(tape, tape->gauges.items[i].name), name) == 0)
			return &tape->gauges.items[i];
	CHECK_FAIL("no %s", name);
}

static void check_points(const struct tape *tape, const char *name, size_t count,
			 const int64_t *values)
{
	const struct tape_gauge *one = gauge(tape, name);

	CHECK_EQ(one->count, count);
	for (size_t i = 0; i < count; i++)
		CHECK_EQ(tape->points.items[one->first + i].value, values[i]);
}

#define POINTS(tape, name, ...)                                                        \
	check_points(tape, name, sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
		     (const int64_t[]){ __VA_ARGS__ })

static void make(struct exec_counts *counts, uint64_t root, const char *path, int times)
{
	for (int i = 0; i < times; i++)
		CHECK_EQ(exec_counts_made(counts, root, path), 0);
}

/*
 * A loop of six starts per minute, counted in two hierarchies. The next tape starts with the
 * current counts.
 */
static void test_loop(void)
{
	struct exec_counts *counts;
	struct tape *tape;

	CHECK_EQ(exec_counts_new(&counts), 0);
	CHECK_EQ(tape_new(&tape), 0);
	make(counts, 1, "/system.slice/ecs-agent.service", 6);
	make(counts, 2, "/system.slice/ecs-agent.service", 5);
	make(counts, 1, "/docker/" HEX32 HEX32, 2);
	make(counts, 1, "/user.slice", 3);
	CHECK_EQ(exec_counts_give(counts, tape, 100 * SECOND_NS, false), 0);
	make(counts, 1, "/system.slice/ecs-agent.service", 6);
	CHECK_EQ(exec_counts_give(counts, tape, 150 * SECOND_NS, false), 0);
	CHECK_EQ(exec_counts_give(counts, tape, 160 * SECOND_NS, false), 0);
	make(counts, 1, "/system.slice/late.service", 1);
	CHECK_EQ(exec_counts_give(counts, tape, 170 * SECOND_NS, true), 0);
	CHECK_EQ(tape->gauges.count, 3);
	POINTS(tape, "unit/ecs-agent.service/made", 0, 6, 12, 12);
	POINTS(tape, "containers/docker/*/made", 0, 2, 2, 2);
	POINTS(tape, "unit/late.service/made", 0, 1);
	tape_free(tape);
	CHECK_EQ(tape_new(&tape), 0);
	tape->sequence = 1;
	CHECK_EQ(exec_counts_give(counts, tape, 300 * SECOND_NS, false), 0);
	POINTS(tape, "unit/ecs-agent.service/made", 12);
	tape_free(tape);
	exec_counts_free(counts);
}

static void test_bounds(void)
{
	struct exec_counts *counts;
	struct tape *tape;
	char path[64];

	CHECK_EQ(exec_counts_new(&counts), 0);
	CHECK_EQ(tape_new(&tape), 0);
	for (int i = 0; i < 2 * EXEC_COUNTS_MAX; i++) {
		snprintf(path, sizeof(path), "/system.slice/u%d.service", i);
		make(counts, i, path, 1);
	}
	CHECK_EQ(exec_counts_give(counts, tape, 100 * SECOND_NS, false), 0);
	CHECK(tape->gauges.count <= EXEC_COUNTS_MAX);
	tape_free(tape);
	exec_counts_free(counts);
}

CHECK_MAIN({ "each new cgroup counts", test_loop }, { "memory is bounded", test_bounds })
