// SPDX-License-Identifier: GPL-2.0-only
/* Chances of counts, against sums that can be done by hand. */
#include "tests/check.h"

#include <math.h>
#include <stdbool.h>

#include "fleet/ask/exact-test.h"

static bool near(double seen, double expected)
{
	return fabs(seen - expected) <= 1e-9 * fmax(1, expected);
}

static void test_share(void)
{
	/* 3 of 10 hosts are marked: 3 drawn hosts are these three in 1 of 120 cases */
	CHECK(near(exact_test_share(3, 3, 3, 10), 1.0 / 120));
	/* at least 2: (3 * 7 + 1) of 120 */
	CHECK(near(exact_test_share(2, 3, 3, 10), 22.0 / 120));
	CHECK(near(exact_test_share(0, 3, 3, 10), 1));
	/* 8 of 10 are marked, so 3 drawn have at least one */
	CHECK(near(exact_test_share(1, 3, 8, 10), 1));
	CHECK(near(exact_test_share(0, 0, 0, 0), 1));
	CHECK(exact_test_share(400, 400, 400, 5000) < 1e-300);
}

static void test_share_contradicts(void)
{
	CHECK(near(exact_test_share(4, 3, 3, 10), 1));
	CHECK(near(exact_test_share(1, 11, 3, 10), 1));
	CHECK(near(exact_test_share(1, 3, 11, 10), 1));
}

static void test_trials(void)
{
	CHECK(near(exact_test_trials(3, 3, 0.2), 0.008));
	CHECK(near(exact_test_trials(1, 2, 0.5), 0.75));
	CHECK(near(exact_test_trials(0, 5, 0.2), 1));
	CHECK(near(exact_test_trials(4, 3, 0.2), 0));
}

static void test_format(void)
{
	char text[CHANCE_TEXT_SIZE];

	CHECK_STR(chance_format(1e-12, text), "<1e-9");
	CHECK_STR(chance_format(3e-5, text), "3e-05");
	CHECK_STR(chance_format(0.04, text), "0.04");
	CHECK_STR(chance_format(1, text), "1");
}

CHECK_MAIN({ "shares", test_share },
	   { "counts that contradict each other", test_share_contradicts },
	   { "trials", test_trials }, { "text", test_format })
