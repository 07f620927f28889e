// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of a hostile ring buffer, through decoder, reorder, tracker and tape_builder. The input
 * is 16 bytes of layout, then consecutive records, each with the size that its header states.
 */
#include <stdlib.h>

#include "recorder/build/tape-builder.h"
#include "recorder/pipeline/reorder.h"
#include "tests/small-caches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct whole {
	struct perf_layout layout;
	struct tracker tracker;
	struct tape_builder builder;
};

/* Reads all bytes to which the decoded record points. */
static void read_user(const struct perf_user *user)
{
	volatile uint8_t byte;
	uint64_t value;

	for (unsigned int number = 0; number < 64; number++)
		perf_user_register(user, number, &value);
	for (size_t i = 0; i < user->stack_size; i++)
		byte = user->stack[i];
	(void)byte;
}

static int apply(void *context, const struct reorder_entry *entry, const uint8_t *bytes)
{
	struct whole *whole = context;
	struct perf_record record;
	struct chain chain;

	if (perf_record_decode(&whole->layout, bytes, entry->size, &record) != 0)
		return 0;
	if (record.type == PERF_TYPE_SAMPLE) {
		read_user(&record.sample.user);
		tape_builder_prefetch(&whole->builder, &record, &chain);
		return tape_builder_add(&whole->builder, &record, &chain);
	}
	if (tracker_apply(&whole->tracker, &record) < 0)
		return -1;
	tracker_sweep(&whole->tracker, record.time_ns / 2);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reorder reorder = { 0 };
	struct whole whole = { 0 };
	struct tape *tape = NULL;
	struct reader reader;
	uint32_t flags;

	reader_init(&reader, data, size);
	whole.layout.sample_type = reader_u64(&reader);
	whole.layout.read_format = reader_u32(&reader);
	flags = reader_u32(&reader);
	whole.layout.sample_id_all = flags & 1;
	whole.layout.regs_user = flags >> 1;
	if (reader_failed(&reader) || tracker_init(&whole.tracker) < 0 || tape_new(&tape) < 0 ||
	    tape_builder_init(&whole.builder, &whole.tracker) < 0)
		return 0;
	tape_builder_start(&whole.builder, tape);
	while (reader_left(&reader) >= PERF_HEADER_SIZE) {
		const uint8_t *at = reader.data + reader.position;
		size_t claimed = at[6] | at[7] << 8;
		size_t there = MIN(MAX(claimed, (size_t)PERF_HEADER_SIZE), reader_left(&reader));

		reorder_add(&reorder, perf_record_place(&whole.layout, at, there).time_ns, 0, at,
			    there);
		reader_take(&reader, there);
	}
	reorder_flush(&reorder, UINT64_MAX, NULL, apply, &whole);
	if (tape_sort_samples(tape) == 0)
		for (size_t i = 1; i < tape->samples.count; i++)
			if (tape->samples.items[i].time_ns < tape->samples.items[i - 1].time_ns)
				abort();
	tape_free(tape);
	reorder_done(&reorder);
	tape_builder_done(&whole.builder);
	tracker_done(&whole.tracker);
	return 0;
}
