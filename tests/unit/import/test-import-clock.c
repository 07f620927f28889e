// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "import/import-clock.h"
#include "import/importer.h"

/* 2025-11-18T03:10:00Z */
#define MOMENT_NS (1763435400ull * NSEC_PER_SEC)

static void use_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static const struct name_time {
	const char *name;
	/* the time in UTC; 0: the name contains no time */
	uint64_t realtime_ns;
	bool ends;
} names[] = {
	{ "perf-web-7-20251118031000-120s.data", MOMENT_NS, false },
	{ "/var/20240101000000/perf-web-7-20251118031000-120s.data", MOMENT_NS, false },
	{ "20251118031000", MOMENT_NS, false },
	{ "20251118T031000.data", MOMENT_NS, false },
	{ "2025-11-18T03:10:00.data.gz", MOMENT_NS, false },
	{ "perf_2025-11-18_03-10-00.data", MOMENT_NS, false },
	{ "perf-20251118-031000Z.data", MOMENT_NS, false },
	{ "perf-1763435400.data", MOMENT_NS, false },
	{ "perf-1763435400000.data", MOMENT_NS, false },
	{ "7-20251118031000.data", MOMENT_NS, false },
	{ "perf.data.2025111803100025", MOMENT_NS + 250 * NSEC_PER_MSEC, true },
	{ "perf.data.2025111803100025.gz", MOMENT_NS + 250 * NSEC_PER_MSEC, true },
	{ "perf.data.2025111803100025.x.zst", MOMENT_NS + 250 * NSEC_PER_MSEC, true },
	{ "", 0, false },
	{ "/", 0, false },
	{ ".", 0, false },
	{ "perf.data", 0, false },
	{ "perf.data.old", 0, false },
	{ "20251118031000/perf.data", 0, false },
	{ "perf-202511180310.data", 0, false },
	{ "perf-202511180310001.data", 0, false },
	{ "perf-20251318031000.data", 0, false },
	{ "perf-20251132031000.data", 0, false },
	{ "perf-20251118241000.data", 0, false },
	{ "perf-20251118036000.data", 0, false },
	{ "perf-00000000000000.data", 0, false },
	{ "perf-99999999999999.data", 0, false },
	{ "perf.data.9999999999999999", 0, false },
	{ "perf.data.20251118031000251", 0, false },
	{ "perf-0000000000.data", 0, false },
	{ "perf-9999999999.data", 0, false },
	{ "perf-99999999999999999999999999999999.data", 0, false },
	{ "2025-11-18", 0, false },
	{ "2025--11-18-03-10-00", 0, false },
	{ "....", 0, false },
	{ "perf.-.-20251118", 0, false },
};

static void test_names(void)
{
	use_zone("UTC");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t realtime_ns = 0, error_ns = 0;
		bool ends = false;
		int r = import_name_time(names[i].name, &realtime_ns, &error_ns, &ends);

		if (r != (names[i].realtime_ns != 0) ||
		    (r && (realtime_ns != names[i].realtime_ns || ends != names[i].ends)))
			CHECK_FAIL("%s: %d, %" PRIu64, names[i].name, r, realtime_ns);
		if (r)
			CHECK_EQ(error_ns, (ends ? 1 : 3) * NSEC_PER_SEC);
	}
}

static void test_zones(void)
{
	uint64_t realtime_ns, error_ns;
	bool ends;

	use_zone("<+02>-2");
	CHECK_EQ(import_name_time("p-20251118051000", &realtime_ns, &error_ns, &ends), 1);
	CHECK_EQ(realtime_ns, MOMENT_NS);
	CHECK_EQ(import_name_time("p-20251118031000Z", &realtime_ns, &error_ns, &ends), 1);
	CHECK_EQ(realtime_ns, MOMENT_NS);
	CHECK_EQ(import_name_time("p-1763435400", &realtime_ns, &error_ns, &ends), 1);
	CHECK_EQ(realtime_ns, MOMENT_NS);
	use_zone("UTC");
}

/* Any text gets an answer, and no read goes beyond its end. */
static void test_any_name(void)
{
	static const char letters[] = "0123456789012345678920251118-_:.TZ/x";
	uint64_t state = 1;

	for (int i = 0; i < 200000; i++) {
		size_t size = i % 40;
		_cleanup_free_ char *name = malloc(size + 1);
		uint64_t realtime_ns, error_ns;
		bool ends;

		CHECK(name);
		for (size_t at = 0; at < size; at++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			name[at] = letters[(state >> 33) % (sizeof(letters) - 1)];
		}
		name[size] = 0;
		CHECK(import_name_time(name, &realtime_ns, &error_ns, &ends) >= 0);
	}
}

static struct perf_data_event events[] = { { .clock = -1 }, { .clock = 1 } };

static struct import_file file_of(const char *host, int clock, enum import_clock_source source,
				  int64_t offset_ns, uint64_t error_ns)
{
	struct import_file file = {
		.event = &events[clock >= 0],
		.clock = { source, offset_ns, error_ns },
	};

	snprintf(file.perf.host, sizeof(file.perf.host), "%s", host);
	return file;
}

/* Files that may be of one boot use the offset of the most certain file. */
static void test_align(void)
{
	const int64_t s = NSEC_PER_SEC;
	struct import_file files[] = {
		file_of("a", -1, IMPORT_CLOCK_MTIME, 1004 * s, 5 * s),
		file_of("a", -1, IMPORT_CLOCK_END_NAME, 1000 * s, 1 * s),
		file_of("a", -1, IMPORT_CLOCK_END_NAME, 1001 * s, 1 * s),
		file_of("a", -1, IMPORT_CLOCK_BEGIN_NAME, 998 * s, 3 * s),
		/* a file of another host, with another clock, of another boot */
		file_of("b", -1, IMPORT_CLOCK_MTIME, 1004 * s, 5 * s),
		file_of("a", 1, IMPORT_CLOCK_MTIME, 1004 * s, 5 * s),
		file_of("a", -1, IMPORT_CLOCK_BEGIN_NAME, 2000 * s, 3 * s),
	};

	import_clock_align(files, ARRAY_SIZE(files));
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(files[i].clock.offset_ns, 1000 * s);
		CHECK_EQ(files[i].clock.source,
			 i == 1 ? IMPORT_CLOCK_END_NAME : IMPORT_CLOCK_NEIGHBOUR);
		CHECK_EQ(files[i].clock.error_ns, 1 * s);
	}
	CHECK_EQ(files[4].clock.source, IMPORT_CLOCK_MTIME);
	CHECK_EQ(files[5].clock.source, IMPORT_CLOCK_MTIME);
	CHECK_EQ(files[6].clock.offset_ns, 2000 * s);
}

static void test_align_given(void)
{
	const int64_t s = NSEC_PER_SEC;
	struct import_file files[] = {
		file_of("a", -1, IMPORT_CLOCK_GIVEN, 1000 * s, 0),
		file_of("a", -1, IMPORT_CLOCK_GIVEN, 1001 * s, 0),
		file_of("a", -1, IMPORT_CLOCK_MTIME, 1002 * s, 5 * s),
	};

	import_clock_align(files, ARRAY_SIZE(files));
	CHECK_EQ(files[0].clock.offset_ns, 1000 * s);
	CHECK_EQ(files[1].clock.offset_ns, 1001 * s);
	CHECK_EQ(files[2].clock.source, IMPORT_CLOCK_NEIGHBOUR);
	import_clock_align(NULL, 0);
}

/* The best clock is used, and absurd clock data is ignored. */
static void test_find(void)
{
	char path[] = "/tmp/test-import-clock-XXXXXX";
	struct timespec times[2] = { { 1763435400, 0 }, { 1763435400, 0 } };
	struct import_options options = { 0 };
	struct import_file file = { .path = path, .event = events };
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK_EQ(futimens(fd, times), 0);
	close(fd);
	file.first_ns = 100 * NSEC_PER_SEC;
	file.last_ns = 110 * NSEC_PER_SEC;
	CHECK_EQ(import_clock_find(&file, &options), 0);
	CHECK_EQ(file.clock.source, IMPORT_CLOCK_MTIME);
	CHECK_EQ(file.clock.offset_ns, MOMENT_NS - file.last_ns);
	file.perf.has_clock = true;
	for (int i = 0; i < 4; i++) {
		static const uint64_t realtimes[] = { 0, 1, UINT64_MAX, 1ull << 63 };

		file.perf.realtime_ns = realtimes[i];
		file.perf.clock_ns = i == 1 ? UINT64_MAX : 0;
		CHECK_EQ(import_clock_find(&file, &options), 0);
		CHECK_EQ(file.clock.source, IMPORT_CLOCK_MTIME);
	}
	file.perf.realtime_ns = MOMENT_NS;
	file.perf.clock_ns = 90 * NSEC_PER_SEC;
	CHECK_EQ(import_clock_find(&file, &options), 0);
	CHECK_EQ(file.clock.source, IMPORT_CLOCK_FILE);
	CHECK_EQ(file.clock.offset_ns, MOMENT_NS - 90 * NSEC_PER_SEC);
	options.end_ns = MOMENT_NS + NSEC_PER_SEC;
	CHECK_EQ(import_clock_find(&file, &options), 0);
	CHECK_EQ(file.clock.source, IMPORT_CLOCK_GIVEN);
	CHECK_EQ(file.clock.offset_ns + (int64_t)file.last_ns, MOMENT_NS + NSEC_PER_SEC);
	options.has_offset = true;
	options.offset_ns = -5;
	CHECK_EQ(import_clock_find(&file, &options), 0);
	CHECK_EQ(file.clock.offset_ns, -5);
	unlink(path);
	options = (struct import_options){ 0 };
	file.perf.has_clock = false;
	CHECK_EQ(import_clock_find(&file, &options), -ENOENT);
}

CHECK_MAIN({ "times in file names", test_names }, { "times in another time zone", test_zones },
	   { "any file name is safe", test_any_name },
	   { "files of one boot get one offset", test_align },
	   { "a given offset is not changed", test_align_given },
	   { "the best clock is taken", test_find })
