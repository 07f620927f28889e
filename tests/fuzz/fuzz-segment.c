// SPDX-License-Identifier: GPL-2.0-only
/*
 * A segment. The target corrects its checksums first, because a fuzzer does not get past them. The
 * saved inputs contain columns without compression. A decoded tape must keep the invariants of
 * tape.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tape/segment/contents.h"
#include "tape/segment/segment.h"
#include "tests/tape-sound.h"

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The sums must cover all samples, and refer only to rows that exist. */
static bool sums_are_sound(const struct tape *tape)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tape->sums.count; i++) {
		const struct tape_sum *row = &tape->sums.items[i];

		if (row->comm >= strings_count(&tape->strings) ||
		    row->stack >= tape->stacks.count || row->frame >= tape->frames.count)
			return false;
		sum += row->count;
	}
	return sum == tape->samples.count;
}

static uint64_t get(const uint8_t *at, size_t size)
{
	struct reader reader;

	reader_init(&reader, at, size);
	return reader_little(&reader, size);
}

static void put(uint8_t *at, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = value >> (8 * i);
}

/* Corrects magic, version, size, and the checksums of all sections that lie within the file. */
static void mend(uint8_t *data, size_t size)
{
	size_t sections = MIN(get(data + 12, 4), (size - CONTENTS_HEADER - 4) / CONTENTS_ENTRY);
	uint8_t *table = data + CONTENTS_HEADER;
	uint64_t offset = CONTENTS_HEADER + sections * CONTENTS_ENTRY + 4;

	memcpy(data, SEGMENT_MAGIC, 8);
	put(data + 8, SEGMENT_VERSION, 4);
	put(data + 12, sections, 4);
	put(data + 16, size, 8);
	put(data + CONTENTS_HEADER - 4, crc32c(0, data, CONTENTS_HEADER - 4), 4);
	for (size_t i = 0; i < sections; i++) {
		uint8_t *entry = table + i * CONTENTS_ENTRY;
		uint64_t stored = MIN(get(entry + 24, 8), size - offset);

		if (i + 1 == sections)
			stored = size - offset;
		put(entry + 12, crc32c(0, data + offset, stored), 4);
		put(entry + 16, offset, 8);
		put(entry + 24, stored, 8);
		offset += stored;
	}
	put(table + sections * CONTENTS_ENTRY, crc32c(0, table, sections * CONTENTS_ENTRY), 4);
}

static void decode(const uint8_t *data, size_t size)
{
	struct segment_input input = segment_input_memory(data, size);
	_cleanup_(cleanup_tape) struct tape *tape = NULL;

	if (segment_decode(&input, &everything, &tape, NULL) == 0 &&
	    !(tape_is_sound(tape) && sums_are_sound(tape)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *copy = NULL;

	decode(data, size);
	if (size < CONTENTS_HEADER + 4)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	mend(copy, size);
	decode(copy, size);
	return 0;
}
