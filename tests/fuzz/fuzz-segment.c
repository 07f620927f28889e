// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decoders of a segment behind its checksums, which a fuzzer would not get past. The input is u16 size and bytes for each
 * section in order; whatever they are, what is decoded keeps the invariants of tape.h.
 */
#include <stdlib.h>

#include "store/sections.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_invariants(const struct tape *tape)
{
	check(tape->frames.count && tape->stacks.count && tape->modules.count);
	for (size_t i = 0; i < tape->frames.count; i++) {
		check(tape->frames.items[i].module < tape->modules.count);
		check(tape->frames.items[i].symbol < strings_count(&tape->strings));
	}
	for (size_t i = 1; i < tape->stacks.count; i++) {
		check(tape->stacks.items[i].parent < i);
		check(tape->stacks.items[i].frame < tape->frames.count);
	}
	for (size_t i = 0; i < tape->threads.count; i++)
		check(tape->threads.items[i].comm < strings_count(&tape->strings));
	for (size_t i = 0; i < tape->samples.count; i++) {
		const struct tape_sample *sample = &tape->samples.items[i];

		check(sample->thread < tape->threads.count && sample->stack < tape->stacks.count);
		check(!i || sample->time_ns >= sample[-1].time_ns);
		tape_to_realtime(tape, sample->time_ns, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tape *tape = calloc(1, sizeof(*tape));
	struct reader reader;
	bool sound = tape;

	/* the file around the sections too */
	if (size > 8)
		segment_decode(data, size, &(struct tape *){ NULL }, NULL);
	reader_init(&reader, data, size);
	for (const struct section *section = sections; section->name && sound; section++) {
		size_t take = MIN((size_t)reader_u16(&reader), reader_left(&reader));
		struct reader raw;

		reader_init(&raw, reader_take(&reader, take), take);
		sound = raw.data && section->decode(tape, &raw) == 0 && !reader_failed(&raw);
	}
	if (sound)
		check_invariants(tape);
	tape_free(tape);
	return 0;
}
