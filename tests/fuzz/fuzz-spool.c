// SPDX-License-Identifier: GPL-2.0-only
/*
 * A spool, and its rows behind the checksums, which a fuzzer does not get past. For the rows the
 * input has blocks: u16 size, u16 number of samples, and `size` bytes. A decoded tape keeps the
 * invariants of tape.h, and clocks and slices accept it.
 */
#include <stdlib.h>

#include "tape/clocks.h"
#include "tape/slice.h"
#include "tape/spool/spool-rows.h"
#include "tests/tape-sound.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* A window in the middle of the tape, computed with its anchors. */
static void run_cut(const struct tape *tape)
{
	_cleanup_(cleanup_tape) struct tape *part = NULL;
	uint64_t from_ns, to_ns;

	clocks_span(tape, tape->begin_ns, tape->end_ns, &from_ns, &to_ns);
	check(tape_slice(tape, from_ns + (to_ns - from_ns) / 4, to_ns - (to_ns - from_ns) / 4,
			 &part) == 0);
	check(!part || tape_is_sound(part));
}

static void run_clocks(struct tape *tape, uint64_t time_ns)
{
	struct clocks_moment moments[CLOCKS_MOMENTS_MAX];

	for (int clock = 0; clock < CLOCKS_COUNT; clock++) {
		uint64_t shown_ns = clocks_from_perf(tape, clock, time_ns, NULL);

		check(clocks_to_perf(tape, clock, shown_ns, moments) <= CLOCKS_MOMENTS_MAX);
		check(clocks_to_perf(tape, clock, time_ns, moments) <= CLOCKS_MOMENTS_MAX);
	}
	clocks_thin(tape, 20000);
}

static void run_spool(const uint8_t *data, size_t size)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct spool_summary summary;
	struct spool_end end;

	spool_peek(data, size, &summary, NULL);
	if (spool_decode(data, size, &tape, &end, NULL) < 0)
		return;
	check(tape_is_sound(tape) && end.good_bytes <= size && !(end.torn && end.damaged));
	check((end.good_bytes < size) == (end.torn || end.damaged));
	run_cut(tape);
	run_clocks(tape, tape->end_ns);
}

static void run_rows(const uint8_t *data, size_t size)
{
	_cleanup_(spool_rows_done) struct spool_rows rows = { 0 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct reader reader;

	check(spool_rows_init(&rows) == 0);
	reader_init(&reader, data, size);
	while (reader_left(&reader) >= 4) {
		size_t take = reader_u16(&reader);
		uint32_t samples = reader_u16(&reader);

		take = MIN(take, reader_left(&reader));
		if (spool_rows_decode(&rows, reader_take(&reader, take), take, samples) < 0)
			break;
	}
	check(spool_rows_finish(&rows, &tape) == 0);
	if (tape->samples.count) {
		tape->begin_ns = tape->samples.items[0].time_ns;
		tape->end_ns =
			tape->samples.items[tape->samples.count - 1].time_ns + TAPE_TIME_UNIT_NS;
	}
	check(tape_is_sound(tape));
	run_cut(tape);
	run_clocks(tape, tape->begin_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_spool(data, size);
	run_rows(data, size);
	return 0;
}
