// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decoders of a segment behind its checksums, which a fuzzer would not get past. The input is u16 size and bytes for each
 * section in order; whatever they are, what is decoded keeps the invariants of tape.h.
 */
#include <stdlib.h>

#include "tape/sections.h"

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* (1) */
static void check_first_rows(const struct tape *tape)
{
	static const struct tape_module unknown;
	const struct tape_module *module = &tape->modules.items[0];
	const struct tape_frame *frame = &tape->frames.items[0];

	check(tape->frames.count && tape->stacks.count && tape->modules.count);
	check(strings_count(&tape->strings) && !*tape_string(tape, 0));
	check(!tape->stacks.items[0].parent && !tape->stacks.items[0].frame);
	check(!module->path && !module->kind && !module->build_id_size && !module->device &&
		!module->inode);
	check(!memcmp(module->build_id, unknown.build_id, sizeof(unknown.build_id)));
	check(!frame->module && !frame->address && !frame->symbol && !frame->offset);
}

/* (3), of the rows that few refer to */
static void check_other_rows(const struct tape *tape)
{
	for (size_t i = 0; i < tape->facts.count; i++)
		check(tape->facts.items[i].key < strings_count(&tape->strings) &&
			tape->facts.items[i].value < strings_count(&tape->strings));
	for (size_t i = 0; i < tape->modules.count; i++)
		check(tape->modules.items[i].path < strings_count(&tape->strings) &&
			tape->modules.items[i].kind < TAPE_MODULE_KINDS &&
			tape->modules.items[i].build_id_size <= TAPE_BUILD_ID_MAX);
	for (size_t i = 1; i < tape->anchors.count; i++)
		check(tape->anchors.items[i].perf_ns > tape->anchors.items[i - 1].perf_ns);
	for (uint32_t i = 1; i < strings_count(&tape->strings); i++)
		check(*tape_string(tape, i));
}

static void check_invariants(const struct tape *tape)
{
	check_first_rows(tape);
	check_other_rows(tape);
	check(tape->begin_ns <= tape->end_ns);
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
		check(sample->time_ns >= tape->begin_ns && sample->time_ns < tape->end_ns);
		tape_to_realtime(tape, sample->time_ns, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tape *tape = calloc(1, sizeof(*tape));
	struct reader reader;
	bool sound = tape;

	/* the file around the sections too */
	if (size > 8) {
		struct segment_input input = segment_input_memory(data, size);

		segment_decode(&input, &everything, &(struct tape *){ NULL }, NULL);
	}
	reader_init(&reader, data, size);
	for (const struct section *section = sections; section->name && sound; section++) {
		size_t take = reader_u16(&reader);
		struct reader raw;

		take = MIN(take, reader_left(&reader));
		reader_init(&raw, reader_take(&reader, take), take);
		sound = raw.data && section->decode(tape, &raw) == 0 && !reader_failed(&raw);
	}
	if (sound)
		check_invariants(tape);
	tape_free(tape);
	return 0;
}
