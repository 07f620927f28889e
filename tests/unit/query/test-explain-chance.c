// SPDX-License-Identifier: GPL-2.0-only
/* Statistics of an explanation: the false-positive rate on random data, and quiet windows. */
#include <math.h>

#include "query/explain/chance.h"
#include "base/clock.h"
#include "query/explain/quiet.h"
#include "query/explain/since.h"
#include "tests/check.h"
#include "tests/random.h"

#define ROWS 60
#define WINDOWS 60

static double noise(void)
{
	return random_below(1u << 20) / (double)(1u << 20);
}

/* Fills a matrix like a host's: rows of different size, which depend on each other. */
static void fill(double *values)
{
	for (size_t window = 0; window < WINDOWS; window++) {
		double load = noise();

		for (size_t row = 0; row < ROWS; row++) {
			double burst = random_below(40) == 0 ? 1 : 0;

			values[row * WINDOWS + window] =
				row % 7 * load + noise() * (row % 3) + (row % 5 == 0 ? burst : 0);
		}
	}
}

static double least_chance(const double *values)
{
	const struct chance_input input = { ROWS, WINDOWS, values, 0.1 };
	struct evidence_chance chances[ROWS];
	double least = 1;

	CHECK_EQ(chance_judge(&input, chances), 0);
	for (size_t row = 0; row < ROWS; row++)
		least = MIN(least, chances[row].p);
	return least;
}

/* The stated rate holds on random data, whatever rows are tried: at most one window in twenty. */
static void test_rate_holds_without_a_cause(void)
{
	static double values[ROWS * WINDOWS];
	unsigned int rounds = 2000, found = 0;

	random_state = 12345;
	for (unsigned int i = 0; i < rounds; i++) {
		fill(values);
		found += least_chance(values) <= 0.05;
	}
	/* 100 are expected; 140 are four standard deviations more */
	printf("# %u of %u random windows have a row with p <= 0.05\n", found, rounds);
	CHECK(found <= 140);
	CHECK(found >= 40);
}

static void test_planted_row_stands_out(void)
{
	static double values[ROWS * WINDOWS];
	const struct chance_input input = { ROWS, WINDOWS, values, 0.1 };
	struct evidence_chance chances[ROWS];
	unsigned int found = 0, others = 0;

	random_state = 54321;
	for (unsigned int i = 0; i < 100; i++) {
		fill(values);
		for (size_t window = 0; window < WINDOWS; window++)
			values[7 * WINDOWS + window] = 0.05 * noise();
		values[7 * WINDOWS] = 1;
		CHECK_EQ(chance_judge(&input, chances), 0);
		found += chances[7].p <= 0.05;
		for (size_t row = 0; row < ROWS; row++)
			others += row != 7 && chances[row].p <= 0.05;
	}
	printf("# found %u of 100, and %u other rows\n", found, others);
	CHECK(found >= 95);
}

/* A row is usual if it is as large as now in every tenth window. */
static void test_periodic_row_does_not_stand_out(void)
{
	static double values[2 * WINDOWS];
	const struct chance_input input = { 2, WINDOWS, values, 0.1 };
	struct evidence_chance chances[2];

	for (size_t window = 0; window < WINDOWS; window += 10)
		values[window] = 1;
	CHECK_EQ(chance_judge(&input, chances), 0);
	CHECK_EQ(chances[0].as_much, WINDOWS / 10 - 1);
	CHECK(chances[0].p > 0.05);
}

static void test_without_windows(void)
{
	const double values[] = { 1, 2 };
	const struct chance_input none = { 0 }, alone = { 2, 1, values, 0.1 };
	struct evidence_chance chances[2];

	CHECK_EQ(chance_judge(&none, chances), 0);
	CHECK_EQ(chance_judge(&alone, chances), 0);
	CHECK_EQ(chances[0].windows, 0);
	CHECK(fabs(chances[0].p - 1) < 1e-9);
}

static void add_segment(struct store_segments *segments, uint64_t from_s, uint64_t to_s)
{
	CHECK_EQ(array_push(&segments->list,
			    (struct store_segment){ .begin_ns = from_s * NSEC_PER_SEC,
						    .end_ns = to_s * NSEC_PER_SEC }),
		 0);
}

static void test_quiet_windows_avoid_trouble(void)
{
	struct store_segments segments = { 0 };
	struct quiet_spans excluded = { 0 };
	struct quiet_windows windows = { 0 };

	for (uint64_t at = 0; at < 1200; at += 120)
		add_segment(&segments, at, at + 120);
	CHECK_EQ(array_push(&excluded.list,
			    (struct quiet_span){ 300 * NSEC_PER_SEC, 330 * NSEC_PER_SEC }),
		 0);
	CHECK_EQ(quiet_choose(&segments, &excluded, 6 * NSEC_PER_SEC, 39, &windows), 0);
	CHECK_EQ(windows.list.count, 39);
	for (size_t i = 0; i < windows.list.count; i++) {
		const struct quiet_window *window = &windows.list.items[i];
		const struct store_segment *segment = &segments.list.items[window->segment];

		CHECK(!quiet_overlaps(&excluded, window->from_ns, window->to_ns));
		CHECK(window->from_ns >= segment->begin_ns && window->to_ns <= segment->end_ns);
		CHECK(!i || window->from_ns >= windows.list.items[i - 1].to_ns);
	}
	CHECK(windows.list.items[0].from_ns < 120 * NSEC_PER_SEC);
	CHECK(windows.list.items[38].from_ns > 1080 * NSEC_PER_SEC);
	array_done(&segments.list);
	array_done(&excluded.list);
	array_done(&windows.list);
}

static void test_short_recording_has_few_windows(void)
{
	struct store_segments segments = { 0 };
	struct quiet_spans excluded = { 0 };
	struct quiet_windows windows = { 0 };

	add_segment(&segments, 0, 20);
	CHECK_EQ(quiet_choose(&segments, &excluded, 6 * NSEC_PER_SEC, 39, &windows), 0);
	CHECK_EQ(windows.list.count, 3);
	CHECK_EQ(quiet_choose(&segments, &excluded, 30 * NSEC_PER_SEC, 39, &windows), 0);
	CHECK_EQ(windows.list.count, 0);
	array_done(&segments.list);
	array_done(&windows.list);
}

static void test_change_is_found(void)
{
	double values[120];

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		values[i] = 0.01 + 0.005 * noise();
	CHECK_EQ(since_change(values, ARRAY_SIZE(values)), 0);
	for (size_t i = 80; i < ARRAY_SIZE(values); i++)
		values[i] += 0.06;
	CHECK_EQ(since_change(values, ARRAY_SIZE(values)), 80);
	/* one value is not a change for good */
	for (size_t i = 80; i < ARRAY_SIZE(values); i++)
		values[i] = 0.01 + (i == 100 ? 0.5 : 0);
	CHECK_EQ(since_change(values, ARRAY_SIZE(values)), 0);
	CHECK_EQ(since_change(values, 0), 0);
	CHECK_EQ(since_change(values, 2), 0);
}

CHECK_MAIN({ "the rate of false positives holds", test_rate_holds_without_a_cause },
	   { "a planted row stands out", test_planted_row_stands_out },
	   { "a periodic row does not", test_periodic_row_does_not_stand_out },
	   { "without windows", test_without_windows },
	   { "quiet windows avoid trouble", test_quiet_windows_avoid_trouble },
	   { "a short recording has few windows", test_short_recording_has_few_windows },
	   { "a change for good is found", test_change_is_found })
