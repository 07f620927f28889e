// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "query/common/strata.h"
#include "tests/check.h"
#include "tests/random.h"

#define SEGMENTS 500
#define LEAST 9

/* Few segments are at night, and a few have much load. */
static void fill(struct strata_segment *segments)
{
	for (size_t i = 0; i < SEGMENTS; i++) {
		double load = random_below(1000) / 1000.0;

		segments[i] =
			(struct strata_segment){ random_below(2400) / 100.0, load * load * load };
	}
}

/* Each segment is in one stratum, whose number `of` has, and no stratum is too small. */
static void test_all_segments(void)
{
	struct strata_segment segments[SEGMENTS];
	unsigned int seen[SEGMENTS] = { 0 };
	struct strata strata;

	fill(segments);
	CHECK_EQ(strata_make(segments, SEGMENTS, LEAST, &strata), 0);
	CHECK(strata.count > SEGMENTS / (2 * LEAST) - 1);
	CHECK_EQ(strata.firsts[0], 0);
	CHECK_EQ(strata.firsts[strata.count], SEGMENTS);
	for (size_t stratum = 0; stratum < strata.count; stratum++) {
		CHECK(strata.firsts[stratum + 1] - strata.firsts[stratum] >= LEAST);
		for (size_t i = strata.firsts[stratum]; i < strata.firsts[stratum + 1]; i++) {
			CHECK_EQ(strata.of[strata.order[i]], stratum);
			seen[strata.order[i]]++;
		}
	}
	for (size_t i = 0; i < SEGMENTS; i++)
		CHECK_EQ(seen[i], 1);
	strata_done(&strata);
}

/* Returns the mean difference of load between a segment and the others of its stratum. */
static double load_apart(const struct strata_segment *segments, const struct strata *strata)
{
	double sum = 0;

	for (size_t i = 0; i < SEGMENTS; i++) {
		size_t from = strata->firsts[strata->of[i]], to = strata->firsts[strata->of[i] + 1];
		double apart = 0;

		for (size_t at = from; at < to; at++)
			apart += fabs(segments[strata->order[at]].load - segments[i].load);
		sum += apart / (to - from);
	}
	return sum / SEGMENTS;
}

static void test_alike(void)
{
	struct strata_segment segments[SEGMENTS];
	struct strata strata, one;

	fill(segments);
	CHECK_EQ(strata_make(segments, SEGMENTS, LEAST, &strata), 0);
	CHECK_EQ(strata_make(segments, SEGMENTS, SEGMENTS, &one), 0);
	CHECK_EQ(one.count, 1);
	CHECK(load_apart(segments, &strata) < load_apart(segments, &one) / 4);
	strata_done(&strata);
	strata_done(&one);
}

/* Segments without a known load are together, and equal ones are divided, too. */
static void test_unknown_and_equal(void)
{
	struct strata_segment segments[4 * LEAST];
	struct strata strata;

	for (size_t i = 0; i < 4 * LEAST; i++)
		segments[i] = (struct strata_segment){ 12, i % 2 ? NAN : 0.5 };
	CHECK_EQ(strata_make(segments, 4 * LEAST, LEAST, &strata), 0);
	CHECK_EQ(strata.count, 4);
	for (size_t i = 0; i < 4 * LEAST; i++)
		CHECK_EQ(isnan(segments[strata.order[i]].load), i < 2 * LEAST);
	strata_done(&strata);
}

static void test_few(void)
{
	const struct strata_segment segment = { 1, 0.1 };
	struct strata strata;

	CHECK_EQ(strata_make(NULL, 0, LEAST, &strata), 0);
	CHECK_EQ(strata.count, 1);
	strata_done(&strata);
	CHECK_EQ(strata_make(&segment, 1, 0, &strata), 0);
	CHECK_EQ(strata.count, 1);
	CHECK_EQ(strata.firsts[1], 1);
	strata_done(&strata);
}

static const struct check_test tests[] = {
	{ "each segment is in one stratum", test_all_segments },
	{ "segments of a stratum are alike", test_alike },
	{ "unknown and equal loads", test_unknown_and_equal },
	{ "one stratum for few segments", test_few },
};

int main(void)
{
	return check_run(tests, ARRAY_SIZE(tests));
}
