// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "query/window/window.h"

#define NOW 1794971527250000000ull /* 2026-11-18T03:12:07.25Z */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

static char error_text[1024];

static int parse(struct window_request request, struct window *ret_window)
{
	struct error error = { 0 };
	int r;

	setenv("TZ", BERLIN, 1);
	tzset();
	request.now_ns = NOW;
	r = window_parse(&request, ret_window, &error);
	snprintf(error_text, sizeof(error_text), "%s", error.text);
	return r;
}

static const char *described(const struct window *window, bool utc)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };
	static char shown[256];

	window_describe(window, utc, &text);
	snprintf(shown, sizeof(shown), "%.*s", (int)text.size, (const char *)text.data);
	return shown;
}

static void test_around(void)
{
	struct window window;

	CHECK_EQ(parse((struct window_request){ .at = "now" }, &window), 0);
	CHECK_EQ(window.at_ns, NOW);
	CHECK_EQ(window.from_ns, NOW - 30 * NSEC_PER_SEC);
	CHECK_EQ(window.to_ns, NOW + 5 * NSEC_PER_SEC);
	CHECK_STR(window.note, "");
	CHECK_EQ(parse((struct window_request){ .at = "03:00", .before = "250ms", .after = "0s" },
		       &window),
		 0);
	CHECK_EQ(window.to_ns, window.at_ns);
	CHECK_EQ(window.at_ns - window.from_ns, 250 * NSEC_PER_MSEC);
}

static void test_between(void)
{
	struct window window;

	CHECK_EQ(parse((struct window_request){ .from = "now-10m" }, &window), 0);
	CHECK_EQ(window.from_ns, NOW - 600 * NSEC_PER_SEC);
	CHECK_EQ(window.to_ns, NOW);
	CHECK_EQ(window.at_ns, 0);
	CHECK_EQ(parse((struct window_request){ .from = "01:00", .to = "02:00", .utc = true },
		       &window),
		 0);
	CHECK_STR(described(&window, true),
		  "2026-11-18 01:00:00.000 to 02:00:00.000 UTC (1 h 0 min)");
}

static void test_mixed(void)
{
	struct window window = { .from_ns = 7 };

	CHECK_EQ(parse((struct window_request){ .at = "now", .from = "now" }, &window), -EINVAL);
	CHECK_STR(error_text, "--at and --from exclude each other; use --at TIME [--before D] "
			      "[--after D], or --from TIME [--to TIME]");
	CHECK_EQ(parse((struct window_request){ .before = "5s", .to = "now" }, &window), -EINVAL);
	CHECK(!strncmp(error_text, "--before and --to exclude each other; ", 38));
	CHECK_EQ(parse((struct window_request){ .after = "5s" }, &window), -EINVAL);
	CHECK_STR(error_text, "--after needs --at TIME");
	CHECK_EQ(parse((struct window_request){ .to = "now" }, &window), -EINVAL);
	CHECK_STR(error_text, "--to needs --from TIME");
	CHECK_EQ(parse((struct window_request){ .to = "now", .to_name = "--until" }, &window),
		 -EINVAL);
	CHECK_STR(error_text, "--until needs --since TIME");
	CHECK_EQ(
		parse((struct window_request){ .at = "now", .from = "now", .from_name = "--since" },
		      &window),
		-EINVAL);
	CHECK(!strncmp(error_text, "--at and --since exclude each other; ", 37));
	CHECK_EQ(parse((struct window_request){ 0 }, &window), -EINVAL);
	CHECK(!strncmp(error_text, "no window is given; ", 20));
	CHECK_EQ(window.from_ns, 7);
}

static void test_wrong(void)
{
	struct window window;

	CHECK_EQ(parse((struct window_request){ .at = "noon" }, &window), -EINVAL);
	CHECK(!strncmp(error_text, "--at: cannot read \"noon\". Like ", 31));
	CHECK_EQ(parse((struct window_request){ .at = "now", .before = "5 parsecs" }, &window),
		 -EINVAL);
	CHECK_STR(error_text,
		  "--before: \"5 parsecs\" is not a duration; use 250ms, 5s, 2m, 12h or 7d");
	CHECK_EQ(parse((struct window_request){ .at = "now", .after = "99999d" }, &window),
		 -EINVAL);
	CHECK_STR(error_text, "--after: \"99999d\" is over 100 years");
	CHECK_EQ(
		parse((struct window_request){ .at = "now", .before = "0", .after = "0" }, &window),
		-EINVAL);
	CHECK_EQ(parse((struct window_request){ .at = "1971-01-02 00:00", .before = "9999d" },
		       &window),
		 -EINVAL);
	CHECK_EQ(parse((struct window_request){ .from = "now", .to = "now-1s" }, &window), -EINVAL);
	CHECK_STR(error_text,
		  "the window is reversed: --from 2026-11-18T04:12:07.250+01:00 is after --to "
		  "2026-11-18T04:12:06.250+01:00; swap them, or use a later --to");
	CHECK_EQ(parse((struct window_request){ .from = "now",
						.from_name = "--since",
						.to = "now-1s",
						.to_name = "--until" },
		       &window),
		 -EINVAL);
	CHECK(strstr(error_text, "use a later --until"));
	CHECK_EQ(parse((struct window_request){ .from = "foo", .from_name = "--since" }, &window),
		 -EINVAL);
	CHECK(!strncmp(error_text, "--since: cannot read \"foo\". Like ", 33));
	/* the present time is 04:12:07.25 */
	CHECK_EQ(parse((struct window_request){ .from = "04:00", .to = "04:20" }, &window), 0);
	CHECK_EQ(window.to_ns - window.from_ns, 20 * 60 * 1000000000ull);
	/* a time of day may also have a zone or a half of the day */
	CHECK_EQ(parse((struct window_request){ .from = "11:50 PM", .to = "0:10" }, &window), 0);
	CHECK_EQ(window.to_ns - window.from_ns, 20 * 60 * 1000000000ull);
	CHECK_EQ(parse((struct window_request){ .from = "22:50 UTC", .to = "00:10 CET" }, &window),
		 0);
	CHECK_EQ(window.to_ns - window.from_ns, 20 * 60 * 1000000000ull);
	CHECK_EQ(parse((struct window_request){ .from = "23:50", .to = "00:10" }, &window), 0);
	CHECK_EQ(window.to_ns - window.from_ns, 20 * 60 * 1000000000ull);
	CHECK_EQ(parse((struct window_request){ .from = "04:00:10", .to = "04:00:05" }, &window),
		 -EINVAL);
	CHECK(strstr(error_text, "the window is reversed: --from "));
	CHECK_EQ(parse((struct window_request){ .from = "04:00", .to = "04:00" }, &window),
		 -EINVAL);
	CHECK(!strncmp(error_text, "the window is empty: --from and --to are both", 45));
	CHECK_EQ(parse((struct window_request){ .from = "23:50", .to = "05:00" }, &window), 0);
	CHECK_EQ(window.to_ns - window.from_ns, 310 * 60 * 1000000000ull);
	/* --to is the first such moment after --from, not the latest one */
	CHECK_EQ(parse((struct window_request){ .from = "2026-11-10 02:30", .to = "03:00" },
		       &window),
		 0);
	CHECK_EQ(window.to_ns - window.from_ns, 30 * 60 * 1000000000ull);
	CHECK_EQ(
		parse((struct window_request){ .from = "yesterday 03:00", .to = "03:00" }, &window),
		0);
	CHECK_EQ(window.to_ns - window.from_ns, 24 * 3600 * 1000000000ull);
	/* a window across the night in which the clock is set back; the note about --from stays */
	CHECK_EQ(parse((struct window_request){ .from = "2026-10-25 02:30", .to = "02:15" },
		       &window),
		 0);
	CHECK_EQ(window.to_ns - window.from_ns, (24 * 60 + 45) * 60 * 1000000000ull);
	CHECK(!strncmp(window.note, "\"2026-10-25 02:30\" occurred twice", 33));
	CHECK_EQ(parse((struct window_request){ .from = "now", .to = "now" }, &window), -EINVAL);
	CHECK_STR(error_text,
		  "the window is empty: --from and --to are both 2026-11-18T04:12:07.250+01:00");
}

static void test_notes(void)
{
	struct window window;

	CHECK_EQ(parse((struct window_request){ .at = "2026-10-25 02:30" }, &window), 0);
	CHECK_STR(window.note, "\"2026-10-25 02:30\" occurred twice (clock set back); "
			       "the first is used, 2026-10-25T02:30:00+02:00");
	CHECK_EQ(parse((struct window_request){ .from = "2026-03-29 02:30",
						.to = "2026-10-25 02:30" },
		       &window),
		 0);
	CHECK_STR(window.note, "\"2026-03-29 02:30\" did not occur (clock set forward); "
			       "2026-03-29T03:30:00+02:00 is used; "
			       "\"2026-10-25 02:30\" occurred twice (clock set back); "
			       "the first is used, 2026-10-25T02:30:00+02:00");
}

/* In this test the machine booted 1000 s after the epoch. */
static int from_uptime(void *context, uint64_t uptime_ns, uint64_t *ret_realtime_ns, char *note,
		       size_t size, struct error *error)
{
	if (uptime_ns > 9999 * NSEC_PER_SEC)
		return error_set(error, -ENODATA, "no such boot");
	*ret_realtime_ns = NOW + uptime_ns;
	snprintf(note, size, "%s", (const char *)context);
	return 0;
}

static void test_uptime(void)
{
	struct window_request request = {
		.from = "[1.5]", .to = "[ 3]", .uptime = from_uptime, .context = (void *)"known"
	};
	struct window window;

	CHECK_EQ(parse(request, &window), 0);
	CHECK_EQ(window.from_ns, NOW + 1500 * NSEC_PER_MSEC);
	CHECK_EQ(window.to_ns, NOW + 3 * NSEC_PER_SEC);
	CHECK_STR(window.note, "[1.5] is known; [ 3] is known");
	request.to = "[10000]";
	CHECK_EQ(parse(request, &window), -ENODATA);
	CHECK_STR(error_text, "no such boot");
	request.to = "[1.5]";
	CHECK_EQ(parse(request, &window), -EINVAL);
	request.uptime = NULL;
	CHECK_EQ(parse(request, &window), -EINVAL);
	CHECK_STR(error_text, "--from: \"[1.5]\" is an uptime; use a time of the wall clock here");
}

static void test_describe(void)
{
	struct window window;

	CHECK_EQ(parse((struct window_request){ .at = "2026-11-18T03:12:07Z" }, &window), 0);
	CHECK_STR(described(&window, false),
		  "2026-11-18 04:11:37.000 to 04:12:12.000 +01:00 (35 s), UTC 03:11:37.000 to "
		  "03:12:12.000");
	CHECK_STR(described(&window, true), "2026-11-18 03:11:37.000 to 03:12:12.000 UTC (35 s)");
	/* the UTC time shows its date if the date differs */
	CHECK_EQ(parse((struct window_request){ .at = "2026-11-18 01:00:10" }, &window), 0);
	CHECK_STR(described(&window, false),
		  "2026-11-18 00:59:40.000 to 01:00:15.000 +01:00 (35 s), UTC 2026-11-17 "
		  "23:59:40.000 to 2026-11-18 00:00:15.000");
	/* both offsets appear if the clock is set back between the two times */
	CHECK_EQ(parse((struct window_request){ .from = "2026-10-25T00:59:00Z",
						.to = "2026-10-25T01:01:00Z" },
		       &window),
		 0);
	CHECK_STR(described(&window, false),
		  "2026-10-25 02:59:00.000 +02:00 to 02:01:00.000 +01:00 (2 min 0 s), UTC "
		  "00:59:00.000 to 01:01:00.000");
}

CHECK_MAIN({ "a window around a moment", test_around },
	   { "a window between two moments", test_between },
	   { "options that exclude each other", test_mixed },
	   { "texts that are not a window are refused", test_wrong },
	   { "notes about ambiguous times", test_notes }, { "uptimes", test_uptime },
	   { "a window as a line", test_describe })
