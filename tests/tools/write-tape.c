// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a random tape as a file of one segment, for tests of readers.
 *
 *   write-tape SEED random FILE     as tests/random-tape.h makes them
 *   write-tape SEED many FILE       with samples for several blocks
 *   write-tape SEED timer FILE      samples of a timer on each CPU, some late, some skipped
 *   write-tape SEED none FILE       without samples
 */
#include <stdlib.h>

#include "tape/segment/segment.h"
#include "tests/random-tape.h"

static void timer_samples(struct random_source *source, struct tape *tape)
{
	uint64_t span_ns = tape->end_ns - tape->begin_ns - NSEC_PER_MSEC;

	for (uint32_t cpu = 0; cpu < 4; cpu++)
		for (uint64_t ns = cpu * NSEC_PER_MSEC; ns < span_ns; ns += TAPES_PERIOD) {
			struct tape_sample sample = {
				.time_ns = tape->begin_ns + ns / 1000 * 1000,
				.period = TAPES_PERIOD,
				.cpu = cpu * 3,
				.thread = random_below(source, tape->threads.count),
				.stack = random_below(source, tape->stacks.count),
				.frame = random_below(source, tape->frames.count),
			};

			sample.time_ns +=
				random_below(source, random_below(source, 20) ? 40 : 1000) * 1000;
			if (random_below(source, 30))
				CHECK_EQ(array_push(&tape->samples, sample), 0);
		}
}

static void change_samples(struct random_source *source, const char *kind, struct tape *tape)
{
	if (!strcmp(kind, "none") || !strcmp(kind, "timer"))
		tape->samples.count = 0;
	if (!strcmp(kind, "timer"))
		timer_samples(source, tape);
	for (int i = 0; !strcmp(kind, "many") && i < 40; i++)
		random_samples(source, tape);
	if (tape->samples.count)
		qsort(tape->samples.items, tape->samples.count, sizeof(*tape->samples.items),
		      random_compare);
}

static void write_tape(uint64_t seed, const char *kind, const char *path)
{
	struct random_source source = { .state = seed };
	_cleanup_(cleanup_tape) struct tape *tape = random_tape(seed);
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	FILE *file;

	change_samples(&source, kind, tape);
	CHECK_EQ(segment_encode(tape, seed % 2 ? SEGMENT_USUAL : SEGMENT_HASTY, 1 << 30, &bytes),
		 0);
	file = fopen(path, "wbe");
	CHECK(file);
	CHECK_EQ(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
	CHECK_EQ(fclose(file), 0);
}

int main(int argc, char **argv)
{
	if (argc != 4 || setjmp(check_failed))
		return 1;
	write_tape(strtoul(argv[1], NULL, 10), argv[2], argv[3]);
	return 0;
}
