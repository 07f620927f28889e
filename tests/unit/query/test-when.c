// SPDX-License-Identifier: GPL-2.0-only
/* Zones are POSIX TZ strings, so the tests do not need zone files. */
#include "tests/check.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "query/window/when.h"

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
#define ST_JOHNS "NST3:30NDT,M3.2.0,M11.1.0"
#define LORD_HOWE "LHST-10:30LHDT-11,M10.1.0,M4.1.0" /* summer time differs by half an hour */

/* 2026-11-18T03:12:07.25Z */
#define NOW 1794971527250000000ull

static void zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

/*
 * Returns the parsed time in UTC with nine digits, or "EINVAL". "ambiguous " or "skipped " precedes
 * the time if it applies.
 */
static const char *said_at(const char *text, uint64_t now_ns, bool utc)
{
	static char shown[TIME_TEXT_SIZE + 16];
	char time[TIME_TEXT_SIZE];
	struct when when;

	if (when_parse(text, now_ns, utc, &when, NULL) == -EINVAL)
		return "EINVAL";
	snprintf(shown, sizeof(shown), "%s%s%s", when.ambiguous ? "ambiguous " : "",
		 when.skipped ? "skipped " : "", time_format(when.realtime_ns, true, 9, time));
	return shown;
}

static const char *said(const char *text)
{
	return said_at(text, NOW, false);
}

static uint64_t at(const char *rfc3339)
{
	struct when when = { 0 };

	CHECK_EQ(when_parse(rfc3339, NOW, true, &when, NULL), 0);
	return when.realtime_ns;
}

static void test_rfc3339(void)
{
	static const char *const rows[][2] = {
		{ "2026-11-18T03:12:07Z", "2026-11-18T03:12:07.000000000Z" },
		{ "2026-11-18t03:12:07z", "2026-11-18T03:12:07.000000000Z" },
		{ "2026-11-18T03:12:07.25+01:00", "2026-11-18T02:12:07.250000000Z" },
		{ "2026-11-18T03:12:07,25+0100", "2026-11-18T02:12:07.250000000Z" },
		{ "2026-11-18 03:12:07 -03:30", "2026-11-18T06:42:07.000000000Z" },
		{ "2026-11-18T03:12:07-00:00", "2026-11-18T03:12:07.000000000Z" },
		{ "2026-11-18T03:12:07+14", "2026-11-17T13:12:07.000000000Z" },
		{ "2026-11-18T03:12Z", "2026-11-18T03:12:00.000000000Z" },
		{ "2026-11-18T03:12:07.123456789123Z", "2026-11-18T03:12:07.123456789Z" },
		{ "2026-11-18T03:12:07.9999999999Z", "2026-11-18T03:12:07.999999999Z" },
		{ "2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000000000Z" },
		{ "2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00.500000000Z" },
		{ "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000000Z" },
		{ "1971-01-01T00:00:00Z", "1971-01-01T00:00:00.000000000Z" },
		{ "2200-12-31T23:59:59Z", "2200-12-31T23:59:59.000000000Z" },
	};

	zone(BERLIN);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		printf("# %s\n", rows[i][0]);
		CHECK_STR(said(rows[i][0]), rows[i][1]);
	}
}

static void test_local(void)
{
	zone(BERLIN);
	CHECK_STR(said("2026-11-18 03:12"), "2026-11-18T02:12:00.000000000Z");
	CHECK_STR(said("2026-07-18 03:12:07.5"), "2026-07-18T01:12:07.500000000Z");
	CHECK_STR(said("2026-07-18T03:12:07"), "2026-07-18T01:12:07.000000000Z");
	CHECK_STR(said("  2026-07-18 03:12\t"), "2026-07-18T01:12:00.000000000Z");
	CHECK_STR(said_at("2026-07-18 03:12", NOW, true), "2026-07-18T03:12:00.000000000Z");
	zone(ST_JOHNS);
	CHECK_STR(said("2026-11-18 03:12"), "2026-11-18T06:42:00.000000000Z");
	zone("UTC");
	CHECK_STR(said("2026-11-18 03:12"), "2026-11-18T03:12:00.000000000Z");
}

/*
 * The first and the last nanosecond of each hour that occurs twice or never, and the nanoseconds
 * beside them.
 */
static void test_clock_changes(void)
{
	static const char *const rows[][3] = {
		{ BERLIN, "2026-10-25 01:59:59", "2026-10-24T23:59:59.000000000Z" },
		{ BERLIN, "2026-10-25 02:00", "ambiguous 2026-10-25T00:00:00.000000000Z" },
		{ BERLIN, "2026-10-25 02:59:59.999999999",
		  "ambiguous 2026-10-25T00:59:59.999999999Z" },
		{ BERLIN, "2026-10-25 03:00", "2026-10-25T02:00:00.000000000Z" },
		{ BERLIN, "2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00.000000000Z" },
		{ BERLIN, "2026-03-29 01:59:59", "2026-03-29T00:59:59.000000000Z" },
		{ BERLIN, "2026-03-29 02:00", "skipped 2026-03-29T01:00:00.000000000Z" },
		{ BERLIN, "2026-03-29 02:59:59", "skipped 2026-03-29T01:59:59.000000000Z" },
		{ BERLIN, "2026-03-29 03:00", "2026-03-29T01:00:00.000000000Z" },
		{ ST_JOHNS, "2026-11-01 00:59:59", "2026-11-01T03:29:59.000000000Z" },
		{ ST_JOHNS, "2026-11-01 01:00", "ambiguous 2026-11-01T03:30:00.000000000Z" },
		{ ST_JOHNS, "2026-11-01 02:00", "2026-11-01T05:30:00.000000000Z" },
		{ ST_JOHNS, "2026-03-08 02:30", "skipped 2026-03-08T06:00:00.000000000Z" },
		{ LORD_HOWE, "2026-04-05 01:29:59", "2026-04-04T14:29:59.000000000Z" },
		{ LORD_HOWE, "2026-04-05 01:30", "ambiguous 2026-04-04T14:30:00.000000000Z" },
		{ LORD_HOWE, "2026-04-05 01:59:59", "ambiguous 2026-04-04T14:59:59.000000000Z" },
		{ LORD_HOWE, "2026-04-05 02:00", "2026-04-04T15:30:00.000000000Z" },
		{ LORD_HOWE, "2026-10-04 02:15", "skipped 2026-10-03T15:45:00.000000000Z" },
		{ LORD_HOWE, "2026-10-04 02:30", "2026-10-03T15:30:00.000000000Z" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		printf("# %s %s\n", rows[i][0], rows[i][1]);
		zone(rows[i][0]);
		CHECK_STR(said(rows[i][1]), rows[i][2]);
	}
	zone(BERLIN);
	CHECK_STR(said_at("2026-10-25 02:30", NOW, true), "2026-10-25T02:30:00.000000000Z");
}

/*
 * In each of these zones, each quarter of an hour of a year is the same after formatting and
 * parsing.
 */
static void test_every_quarter_hour(void)
{
	static const char *const zones[] = { BERLIN, ST_JOHNS, LORD_HOWE, "UTC" };

	for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
		zone(zones[i]);
		for (uint64_t ns = at("2026-01-01 00:00"); ns < at("2027-01-01 00:00");
		     ns += 900 * NSEC_PER_SEC) {
			char local[TIME_TEXT_SIZE];
			struct when when = { 0 };

			time_format(ns, false, 0, local);
			CHECK_EQ(when_parse(local, NOW, false, &when, NULL), 0);
			CHECK_EQ(when.realtime_ns, ns);
			local[strlen("2026-01-01T00:00:00")] = 0;
			CHECK_EQ(when_parse(local, NOW, false, &when, NULL), 0);
			CHECK(!when.skipped);
			CHECK(when.ambiguous ? when.realtime_ns <= ns : when.realtime_ns == ns);
		}
	}
}

static void test_clock_alone(void)
{
	zone(BERLIN); /* the present time is 04:12:07.25 */
	CHECK_STR(said("04:12"), "2026-11-18T03:12:00.000000000Z");
	CHECK_STR(said("04:12:07.25"), "2026-11-18T03:12:07.250000000Z");
	CHECK_STR(said("04:12:07.26"), "2026-11-17T03:12:07.260000000Z");
	CHECK_STR(said("23:59:59"), "2026-11-17T22:59:59.000000000Z");
	CHECK_STR(said("00:00"), "2026-11-17T23:00:00.000000000Z");
	CHECK_STR(said_at("04:12", NOW, true), "2026-11-17T04:12:00.000000000Z");
	/* the date is that of the zone, not of UTC */
	CHECK_STR(said_at("00:30", at("2026-11-17T23:45:00Z"), false),
		  "2026-11-17T23:30:00.000000000Z");
	/* a time after the double hour, one before it, and one in its first pass */
	CHECK_STR(said_at("02:30", at("2026-10-25T09:00:00Z"), false),
		  "ambiguous 2026-10-25T00:30:00.000000000Z");
	CHECK_STR(said_at("02:30", at("2026-10-25T00:10:00Z"), false),
		  "2026-10-24T00:30:00.000000000Z");
}

static void test_words(void)
{
	zone(BERLIN);
	CHECK_STR(said("now"), "2026-11-18T03:12:07.250000000Z");
	CHECK_STR(said("now-10m"), "2026-11-18T03:02:07.250000000Z");
	CHECK_STR(said("now - 1.5h"), "2026-11-18T01:42:07.250000000Z");
	CHECK_STR(said("10m ago"), "2026-11-18T03:02:07.250000000Z");
	CHECK_STR(said("250ms ago"), "2026-11-18T03:12:07.000000000Z");
	CHECK_STR(said("yesterday 23:00"), "2026-11-17T22:00:00.000000000Z");
	CHECK_STR(said("yesterday"), "2026-11-16T23:00:00.000000000Z");
	CHECK_STR(said_at("today", NOW, true), "2026-11-18T00:00:00.000000000Z");
	CHECK_STR(said("today 07:00"), "2026-11-18T06:00:00.000000000Z");
	CHECK_STR(said_at("today 07:00", NOW, true), "2026-11-18T07:00:00.000000000Z");
	CHECK_STR(said_at("yesterday 12:00", at("2026-03-29T20:00:00Z"), false),
		  "2026-03-28T11:00:00.000000000Z");
	CHECK_STR(said("@1762918327.25"), "2025-11-12T03:32:07.250000000Z");
	CHECK_STR(said("@1762918327"), "2025-11-12T03:32:07.000000000Z");
}

/*
 * Times as users paste them: with a zone, a half of the day, a month's name, or words around them.
 */
static void test_pasted(void)
{
	static const char *const rows[][2] = {
		/* the present time is 2026-11-18T03:12:07.25Z, and 04:12:07.25 in this zone */
		{ "03:12:07Z", "2026-11-18T03:12:07.000000000Z" },
		{ "3:12", "2026-11-18T02:12:00.000000000Z" },
		{ "3:12:07", "2026-11-18T02:12:07.000000000Z" },
		{ "12:24:49 UTC", "2026-11-17T12:24:49.000000000Z" },
		{ "12:24:49 utc", "2026-11-17T12:24:49.000000000Z" },
		{ "03:12:07 GMT", "2026-11-18T03:12:07.000000000Z" },
		{ "03:12:07+01:00", "2026-11-18T02:12:07.000000000Z" },
		{ "03:12:07 -0500", "2026-11-17T08:12:07.000000000Z" },
		{ "04:12:07 CET", "2026-11-18T03:12:07.000000000Z" },
		{ "04:12:07 CEST", "2026-11-18T02:12:07.000000000Z" },
		{ "3:12 AM", "2026-11-18T02:12:00.000000000Z" },
		{ "3:12 pm", "2026-11-17T14:12:00.000000000Z" },
		{ "12:05 AM", "2026-11-17T23:05:00.000000000Z" },
		{ "12:05 p.m.", "2026-11-17T11:05:00.000000000Z" },
		{ "3pm", "2026-11-17T14:00:00.000000000Z" },
		{ "3 PM UTC", "2026-11-17T15:00:00.000000000Z" },
		/* words */
		{ "yesterday 3:12", "2026-11-17T02:12:00.000000000Z" },
		{ "yesterday at 3:12 PM", "2026-11-17T14:12:00.000000000Z" },
		{ "Yesterday, 23:00 UTC", "2026-11-17T23:00:00.000000000Z" },
		{ "03:12 yesterday", "2026-11-17T02:12:00.000000000Z" },
		{ "around 03:12 yesterday", "2026-11-17T02:12:00.000000000Z" },
		{ "around 3:12", "2026-11-18T02:12:00.000000000Z" },
		{ "at 3:12", "2026-11-18T02:12:00.000000000Z" },
		{ "about now-10m", "2026-11-18T03:02:07.250000000Z" },
		{ "Monday 07:00", "2026-11-16T06:00:00.000000000Z" },
		{ "wed 04:00", "2026-11-18T03:00:00.000000000Z" },
		{ "Wednesday 05:00", "2026-11-11T04:00:00.000000000Z" },
		{ "07:00 on Monday", "2026-11-16T06:00:00.000000000Z" },
		/* lengths */
		{ "-20m", "2026-11-18T02:52:07.250000000Z" },
		{ "- 20m", "2026-11-18T02:52:07.250000000Z" },
		{ "now+1h", "2026-11-18T04:12:07.250000000Z" },
		{ "now + 1h", "2026-11-18T04:12:07.250000000Z" },
		{ "+1h", "2026-11-18T04:12:07.250000000Z" },
		/* names of months */
		{ "Nov 19, 2026 12:24:49 PM UTC", "2026-11-19T12:24:49.000000000Z" },
		{ "Nov 19, 2026, 1:24:49 AM UTC", "2026-11-19T01:24:49.000000000Z" },
		{ "November 19, 2026 at 1:24 PM UTC", "2026-11-19T13:24:00.000000000Z" },
		{ "Nov 19 2026 12:24:49", "2026-11-19T11:24:49.000000000Z" },
		{ "Nov 19, 2026 @ 12:24:49.250", "2026-11-19T11:24:49.250000000Z" },
		{ "Nov 17 12:24:49 UTC", "2026-11-17T12:24:49.000000000Z" },
		{ "Nov 19 12:24:49 UTC", "2025-11-19T12:24:49.000000000Z" },
		{ "Feb 29 12:00 UTC", "2024-02-29T12:00:00.000000000Z" },
		{ "12:24:49 UTC Nov 17", "2026-11-17T12:24:49.000000000Z" },
		{ "12:24 on Nov 17", "2026-11-17T11:24:00.000000000Z" },
		{ "Thu, 19 Nov 2026 12:24:49 +0000", "2026-11-19T12:24:49.000000000Z" },
		{ "Thu, 19 Nov 2026 12:24:49 +0000 (UTC)", "2026-11-19T12:24:49.000000000Z" },
		{ "Thu, 19 Nov 2026 04:24:49 -0800", "2026-11-19T12:24:49.000000000Z" },
		{ "19 Nov 2026 12:24:49 GMT", "2026-11-19T12:24:49.000000000Z" },
		{ "19-Nov-2026 12:24:49 UTC", "2026-11-19T12:24:49.000000000Z" },
		{ "19/Nov/2026:12:24:49 +0000", "2026-11-19T12:24:49.000000000Z" },
		{ "2026 Nov 19 12:24:49 UTC", "2026-11-19T12:24:49.000000000Z" },
		{ "Thu Nov 19 12:24:49 UTC 2026", "2026-11-19T12:24:49.000000000Z" },
		{ "Thu Nov 19 12:24:49 2026", "2026-11-19T11:24:49.000000000Z" },
		{ "Thu 19 Nov 2026 12:24:49 PM UTC", "2026-11-19T12:24:49.000000000Z" },
		{ "Thu Nov 19 2026 12:24:49 GMT+0100 (Central European Standard Time)",
		  "2026-11-19T11:24:49.000000000Z" },
		{ "Wed 2026-11-18 03:12:07 UTC", "2026-11-18T03:12:07.000000000Z" },
		{ "2026/11/18 3:12", "2026-11-18T02:12:00.000000000Z" },
		{ "2026-11-18 3:12:07 AM UTC", "2026-11-18T03:12:07.000000000Z" },
	};

	zone(BERLIN);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		printf("# %s\n", rows[i][0]);
		CHECK_STR(said(rows[i][0]), rows[i][1]);
	}
	/* in the other half of the day, in another zone */
	zone("PST8PDT,M3.2.0,M11.1.0");
	CHECK_STR(said("12:24:49 UTC"), "2026-11-17T12:24:49.000000000Z");
	CHECK_STR(said("PST"), "EINVAL");
	CHECK_STR(said("04:24:49 PST"), "EINVAL");
}

static const char *found_in(const char *text)
{
	static char shown[TIME_TEXT_SIZE];
	struct when when;
	int r = when_find(text, NOW, false, &when, NULL);

	if (r == 1 && when.is_uptime)
		snprintf(shown, sizeof(shown), "up %.2f of %g", when.uptime_ns / 1e9,
			 when.unit_ns / 1e9);
	else if (r == 1)
		time_format(when.realtime_ns, true, 3, shown);
	return r < 0 ? "EINVAL" : r == 0 ? "" : shown;
}

static void test_find(void)
{
	static const char *const rows[][2] = {
		{ "ENA reset 12:24:49", "2026-11-17T11:24:49.000Z" },
		{ "12:24:49 UTC ena_reset eth0", "2026-11-17T12:24:49.000Z" },
		{ "12:24:49 ena_reset", "2026-11-17T11:24:49.000Z" },
		{ "12:24:49 ENA reset", "2026-11-17T11:24:49.000Z" },
		{ "12:24:49 ERROR reset", "2026-11-17T11:24:49.000Z" },
		{ "(12:24:49) reset", "2026-11-17T11:24:49.000Z" },
		{ "reset at 12:24:49.", "2026-11-17T11:24:49.000Z" },
		{ "reset, 12:24:49: gone", "2026-11-17T11:24:49.000Z" },
		{ "PM: 1:02:03 PM: suspend", "2026-11-18T00:02:03.000Z" },
		{ "saw it Nov 16, 2026 12:24:49 PM UTC on a host", "2026-11-16T12:24:49.000Z" },
		{ "Mon, 16 Nov 2026 12:24:49 +0000 ena", "2026-11-16T12:24:49.000Z" },
		{ "reset on 2026-11-16 at 12:24 UTC", "2026-11-16T12:24:00.000Z" },
		{ "12:24:49 UTC Nov 16, 2025: reset", "2025-11-16T12:24:49.000Z" },
		{ "yesterday reset 12:24", "2026-11-17T11:24:00.000Z" },
		{ "reset 12:24:49 PST", "EINVAL" },
		{ "Nov 16 04:24:49 PST ena", "EINVAL" },
		{ "11/19/2026 12:24:49 reset", "EINVAL" },
		{ "19.11.2026, 12:24:49 reset", "EINVAL" },
		{ "driver 2.11.0 12:24:49 reset", "2026-11-17T11:24:49.000Z" },
		{ "10.0.0.1 12:24:49 reset", "2026-11-17T11:24:49.000Z" },
		/*
		 * stamps of the kernel with fewer digits; a time of day counts more than a stamp
		 * that follows it
		 */
		{ "[ 6700.5] ena eth0: reset", "up 6700.50 of 0.1" },
		{ " [6700.25] 12:24:49 reset", "up 6700.25 of 0.01" },
		{ "vm kernel: [6700.5] reset", "up 6700.50 of 0.1" },
		{ "vm [6700.5] 12:24:49 reset", "2026-11-17T11:24:49.000Z" },
		{ "sshd[6700]: [6700] [6700.] [.5] [6700.5 [a.5] [6700.5a]", "" },
		/* addresses, ratios and versions are not times */
		{ "ena 0000:20:03.0 eth0: reset", "" },
		{ "mac 12:34:56:78:9a:bc", "" },
		{ "fe80::12:24", "" },
		{ "20:03.0", "" },
		{ "a12:24 12:24b 12:24_", "" },
		{ "99:24:49 12:99", "" },
		{ "no time, Nov 16 and yesterday", "" },
		{ "", "" },
	};

	zone(BERLIN);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		printf("# %s\n", rows[i][0]);
		CHECK_STR(found_in(rows[i][0]), rows[i][1]);
	}
}

static void test_uptime(void)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = { { "[12345.678901]", 12345678901000ull },
		     { "[    5.756000]", 5756000000ull },
		     { " [0.000001] ", 1000 },
		     { "[12345]", 12345 * NSEC_PER_SEC },
		     { "[1.0000000019]", 1000000001 } };
	static const char *const wrong[] = { "[]",
					     "[ ]",
					     "[1.5",
					     "1.5]",
					     "[1.]",
					     "[.5]",
					     "[-1.5]",
					     "[1.5 ]",
					     "[1.5] x",
					     "[1,5]",
					     "[99999999999999999999]",
					     "[T1.5]" };
	struct when when;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(when_parse(rows[i].text, NOW, false, &when, NULL), 0);
		CHECK(when.is_uptime);
		CHECK_EQ(when.uptime_ns, rows[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_EQ(when_parse(wrong[i], NOW, false, &when, NULL), -EINVAL);
	CHECK_EQ(when_parse("now", NOW, false, &when, NULL), 0);
	CHECK(!when.is_uptime);
}

static void test_refused(void)
{
	static const char *const rows[] = { "",
					    " ",
					    "noon",
					    "2026-02-30 10:00",
					    "2025-02-29T10:00:00Z",
					    "2026-13-01 10:00",
					    "2026-00-10 10:00",
					    "2026-11-00 10:00",
					    "2026-11-18 24:00",
					    "24:00",
					    "12:60",
					    "12:00:61",
					    "2026-11-18",
					    "2026-11-18T03",
					    "2026-11-18T03:12:07.",
					    "2026-11-18T03:12:07.Z",
					    "2026-11-18T03:12:07+1",
					    "2026-11-18T03:12:07+24:00",
					    "2026-11-18T03:12:07+01:60",
					    "2026-11-18T03:12:07+01:",
					    "2026-11-18T03:12:07Z+01:00",
					    "2026-11-18T03:12:07 CST",
					    "Nov 19 04:24:49 PST",
					    "12:24:49 IST",
					    "12:24:49 pst",
					    "12:24:49 EST",
					    "12:24:49 XYZ",
					    "12:24:49 Q",
					    "12:24:49 UTCX",
					    "12:24:49 PST 2026",
					    "Thu Nov 19 12:24:49 BST 2026",
					    "13:00 PM",
					    "0:30 AM",
					    "3:12 PMs",
					    "Nov 31 12:00",
					    "Novel 3 12:00",
					    "Nov 19",
					    "Nov 19, 2026",
					    "Monday",
					    "31/Feb/2026:12:00:00 +0000",
					    "around",
					    "around noon",
					    "at",
					    "-20",
					    "- 20m ago",
					    "+",
					    "1:2",
					    "123:12",
					    "20261118T031207Z",
					    "1970-06-01T00:00:00Z",
					    "2201-01-01T00:00:00Z",
					    "9999-01-01 00:00",
					    "@",
					    "@-1",
					    "@1e9",
					    "@1762918327.",
					    "@99999999999999999999999999",
					    "@0",
					    "now-",
					    "now-10",
					    "nowish",
					    "10m",
					    "ago",
					    " ago",
					    "10 ago",
					    "-10m ago",
					    "90000000d ago",
					    "99y ago",
					    "yesterday-1",
					    "yesterday 25:00",
					    "yesterdaynoon",
					    "today noon",
					    "12:00 12:00",
					    "12:00\n",
					    "1\xc3\xa9:00" };

	zone("UTC");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		printf("# row %zu\n", i);
		CHECK_STR(said(rows[i]), "EINVAL");
	}
}

static void test_errors(void)
{
	struct when when = { .realtime_ns = 7 };
	struct error error;
	char longest[4000];

	zone("UTC");
	CHECK_EQ(when_parse("2026-02-30 10:00", NOW, false, &when, &error), -EINVAL);
	CHECK(!strncmp(error.text, "cannot read \"2026-02-30 10:00\": the calendar has no such day",
		       62));
	CHECK_EQ(when_parse("Nov 19 04:24:49 PST", NOW, false, &when, &error), -EINVAL);
	CHECK_STR(error.text, "cannot read \"Nov 19 04:24:49 PST\": PST names several time zones; "
			      "write UTC, or an offset such as +01:00");
	CHECK_EQ(when_parse("12:24:49 XYZ", NOW, false, &when, &error), -EINVAL);
	CHECK(strstr(error.text, "XYZ is not a known time zone; "));
	CHECK_EQ(when_parse("soon", NOW, false, &when, &error), -EINVAL);
	CHECK_STR(error.text,
		  "cannot read \"soon\". Like 03:12:07, 'yesterday 23:00', now-10m; all "
		  "forms: man perftape-time");
	CHECK_EQ(when_parse("a\nb\033[1m", NOW, false, &when, &error), -EINVAL);
	CHECK(!strncmp(error.text, "cannot read \"a?b?[1m\". Like ", 28));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	CHECK_EQ(when_parse(longest, NOW, false, &when, &error), -EINVAL);
	CHECK(strlen(error.text) < 300);
	memcpy(longest + 59, "\xc3\xa9", 2);
	CHECK_EQ(when_parse(longest, NOW, false, &when, &error), -EINVAL);
	CHECK(!strncmp(error.text + 71, "x\". Like ", 9));
	CHECK_EQ(when.realtime_ns, 7);
}

CHECK_MAIN({ "RFC 3339", test_rfc3339 }, { "local times", test_local },
	   { "times where the clock changes", test_clock_changes },
	   { "every quarter of an hour of a year", test_every_quarter_hour },
	   { "a time of day without a date", test_clock_alone },
	   { "words such as yesterday", test_words }, { "stamps of the kernel log", test_uptime },
	   { "times as people paste them", test_pasted }, { "a time within a text", test_find },
	   { "texts that are not a time are refused", test_refused },
	   { "an error is one readable line", test_errors })
