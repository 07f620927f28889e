// SPDX-License-Identifier: GPL-2.0-only
/* The progress line on a terminal that is too narrow for the whole line. */
#include "tests/check.h"

#include "base/clock.h"
#include "cli/answer/progress-line.h"

static const char line[] = "1 min 5 s  12921 samples (146/s)  0 lost  1.5 MB  own CPU 0.26 %  "
			   "cpu-clock on 2 CPUs, 3 segments";

static const char *shown(const char *text, size_t width)
{
	static char part[sizeof(line)];

	snprintf(part, sizeof(part), "%.*s", (int)progress_line_fits(text, width), text);
	return part;
}

static void test_whole_parts(void)
{
	CHECK_STR(shown(line, 200), line);
	CHECK_STR(shown(line, sizeof(line) - 1), line);
	CHECK_STR(shown(line, sizeof(line) - 2),
		  "1 min 5 s  12921 samples (146/s)  0 lost  1.5 MB  own CPU 0.26 %  "
		  "cpu-clock on 2 CPUs");
	CHECK_STR(shown(line, 79),
		  "1 min 5 s  12921 samples (146/s)  0 lost  1.5 MB  own CPU 0.26 %");
	/* a number never appears without its unit */
	CHECK_STR(shown(line, 63), "1 min 5 s  12921 samples (146/s)  0 lost  1.5 MB");
	CHECK_STR(shown(line, 40), "1 min 5 s  12921 samples (146/s)  0 lost");
	CHECK_STR(shown(line, 39), "1 min 5 s  12921 samples (146/s)");
	CHECK_STR(shown(line, 9), "1 min 5 s");
}

static void test_no_part_fits(void)
{
	CHECK_STR(shown(line, 8), "1 min 5");
	CHECK_STR(shown("sealing what is left", 15), "sealing what is");
	CHECK_STR(shown("sealing what is left", 5), "");
	CHECK_STR(shown(line, 0), "");
	CHECK_STR(shown("", 0), "");
}

/* A line for the last moment would only flash. */
static void test_rest(void)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct progress_line progress = { .what = "segments", .shown = true };

	progress.started_ns = now_ns - NSEC_PER_SEC;
	progress_line_show(&progress, 1000, 1000);
	CHECK_EQ(progress.last_ns, 0);
	progress.started_ns = now_ns - NSEC_PER_SEC;
	progress_line_show(&progress, 1, 1000);
	CHECK(progress.last_ns >= now_ns);
	progress_line_end(&progress);
}

CHECK_MAIN({ "a narrow line leaves out whole parts", test_whole_parts },
	   { "a part that does not fit leaves out words", test_no_part_fits },
	   { "no line for the last moment", test_rest })
