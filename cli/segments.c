// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "base/clock.h"
#include "cli/command.h"
#include "store/store-reader.h"

static const struct option options[] = {
	{ 0 },
};

static void print_segment(const struct store_segment *segment, bool utc)
{
	char begin[TIME_TEXT_SIZE], length[32];

	printf("%-29s  %12s %9llu %7llu %9.1f  %s%s%s\n",
		time_format(segment->begin_ns, utc, 3, begin),
		duration_format(segment->end_ns - segment->begin_ns, length, sizeof(length)),
		(unsigned long long)segment->samples, (unsigned long long)segment->lost,
		segment->bytes / 1000.0, segment->name, *segment->damage ? "  unreadable: " : "",
		segment->damage);
}

static int run(const struct invocation *invocation)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	uint64_t bytes = 0;
	int r = store_reader_open(store_path(invocation), &reader, &error);

	if (r == 0)
		r = store_reader_find(reader, 0, UINT64_MAX, &segments, &error);
	if (r < 0)
		return fail(r, &error);
	if (segments.list.count)
		printf("%-29s  %12s %9s %7s %9s  %s\n", "begin", "length", "samples", "lost", "kB",
			"segment");
	for (size_t i = 0; i < segments.list.count; i++) {
		print_segment(&segments.list.items[i], option_given(invocation, "utc"));
		bytes += segments.list.items[i].bytes;
	}
	say(invocation, "%zu segment%s, %.2f MB in %s", segments.list.count,
		segments.list.count == 1 ? "" : "s", bytes / 1e6, store_reader_path(reader));
	array_done(&segments.list);
	return EXIT_DONE;
}

const struct command command_segments = {
	.name = "segments",
	.summary = "List what is recorded",
	.options = options,
	.run = run,
};
