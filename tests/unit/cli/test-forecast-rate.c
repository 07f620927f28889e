// SPDX-License-Identifier: GPL-2.0-only
/* Computes the bytes of a night from the bytes of a short trial. */
#include "tests/check.h"

#include "base/clock.h"
#include "cli/service/forecast-rate.h"

#define SEGMENT_NS (120 * NSEC_PER_SEC)

static struct forecast computed(const struct forecast_piece *pieces, size_t count)
{
	struct forecast forecast;

	forecast_compute(pieces, count, SEGMENT_NS, &forecast);
	return forecast;
}

static void test_names_once(void)
{
	/* 12,000 bytes of names, and 300 a second */
	const struct forecast_piece pieces[] = {
		{ 20 * NSEC_PER_SEC, 18000 },
		{ 40 * NSEC_PER_SEC, 24000 },
	};
	struct forecast forecast = computed(pieces, 2);

	CHECK_EQ(forecast.least, 300);
	CHECK_EQ(forecast.rate, 400);
	CHECK_EQ(forecast.most, 900);
}

static void test_no_names(void)
{
	/* the longer piece had more to do: a negative part for names would be nonsense */
	const struct forecast_piece pieces[] = {
		{ 20 * NSEC_PER_SEC, 2000 },
		{ 40 * NSEC_PER_SEC, 40000 },
	};
	struct forecast forecast = computed(pieces, 2);

	CHECK_EQ(forecast.rate, 700);
	CHECK_EQ(forecast.least, 100);
	CHECK_EQ(forecast.most, 1000);
}

static void test_one_length(void)
{
	const struct forecast_piece pieces[] = {
		{ 30 * NSEC_PER_SEC, 9000 },
		{ 31 * NSEC_PER_SEC, 9300 },
		{ 30 * NSEC_PER_SEC, 18000 },
	};
	struct forecast forecast = computed(pieces, 1);

	CHECK_EQ(forecast.rate, 300);
	CHECK_EQ(forecast.least, 300);
	CHECK_EQ(forecast.most, 300);
	forecast = computed(pieces, 3);
	CHECK(forecast.rate > 398 && forecast.rate < 400);
	CHECK_EQ(forecast.least, 300);
	CHECK_EQ(forecast.most, 600);
	/* a longer piece with fewer bytes does not show the bytes of names, either */
	forecast = computed((const struct forecast_piece[]){ { 20 * NSEC_PER_SEC, 8000 },
							     { 40 * NSEC_PER_SEC, 4000 } },
			    2);
	CHECK_EQ(forecast.rate, 200);
	CHECK_EQ(forecast.least, 100);
	CHECK_EQ(forecast.most, 400);
}

CHECK_MAIN({ "names count once for each segment", test_names_once },
	   { "a trial with a growing load", test_no_names },
	   { "pieces of one length, and a single one", test_one_length })
