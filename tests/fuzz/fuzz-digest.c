// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the section of sums of a tape with some strings and threads. Decoded rows must
 * refer only to rows that exist, and no sum may exceed the samples.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tape/segment/segment-digest.h"
#include "tape/spread.h"

#define STRINGS 40
#define THREADS 8
#define COMMS 4
#define SAMPLES 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tape *make_tape(void)
{
	struct tape *tape;
	char text[16];
	uint32_t id;

	if (tape_new(&tape) < 0)
		abort();
	for (uint32_t i = 1; i <= STRINGS; i++) {
		int length = snprintf(text, sizeof(text), "s%u", i);

		if (strings_add(&tape->strings, text, length, &id) < 0)
			abort();
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		struct tape_thread thread = { .pid = i, .tid = i, .comm = 1 + i % COMMS };

		if (tape_add_thread(tape, &thread, &id) < 0)
			abort();
	}
	return tape;
}

static void must(bool sound)
{
	if (!sound)
		abort();
}

static void check_cells(const struct digest *digest)
{
	size_t width = SPREAD_FRACTIONS + 2 * (size_t)digest->spill;
	uint64_t sum = 0;

	must(digest->interval_ns != 0);
	must(digest->cells.count == digest->intervals.count * digest->cpus.count);
	must(digest->spread.count ==
	     (digest->spill ? digest->intervals.count * width * SPREAD_PARTS : 0));
	for (size_t i = 0; i < digest->cells.count; i++)
		for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
			sum += digest->cells.items[i].n[kind];
	must(sum <= SAMPLES);
	for (size_t i = 0; i < digest->intervals.count; i++)
		must((!i || digest->intervals.items[i] > digest->intervals.items[i - 1]) &&
		     digest->intervals.items[i] < UINT64_MAX / digest->interval_ns);
	for (size_t i = 0; i < digest->cpus.count; i++)
		must(digest->cpus.items[i] < TAPE_CPUS_MAX &&
		     (!i || digest->cpus.items[i] > digest->cpus.items[i - 1]));
}

static void check_rows(const struct digest *digest)
{
	for (size_t i = 0; i < digest->threads.count; i++)
		must(digest->threads.items[i].thread < THREADS &&
		     digest->threads.items[i].owner <= STRINGS &&
		     digest->threads.items[i].there <= SAMPLES);
	for (size_t i = 0; i < digest->cores.count; i++) {
		const struct digest_core *core = &digest->cores.items[i];

		must(core->owner <= STRINGS && core->function <= digest->functions.count &&
		     core->work <= SAMPLES && core->there <= core->work);
	}
	for (size_t i = 0; i < digest->functions.count; i++) {
		const struct digest_function *function = &digest->functions.items[i];

		must(function->string <= STRINGS && function->self <= function->total &&
		     function->total <= SAMPLES && function->led <= function->total);
	}
	for (size_t i = 0; i < digest->unnamed.count; i++)
		must(digest->unnamed.items[i].path <= STRINGS);
}

/* Returns whether the bytes are a digest. */
static bool take_digest(const uint8_t *data, size_t size, const struct tape *tape,
			struct zstd_unpacker *unpacker, unsigned int parts)
{
	struct section_reader section = { .raw_limit = CONTENTS_RAW_FREE, .unpacker = unpacker };
	struct digest digest;
	int r;

	reader_init(&section.stored, data, size);
	r = digest_take(&section, tape, SAMPLES, parts, &digest);
	if (r == 0) {
		check_cells(&digest);
		check_rows(&digest);
	} else if (r != -EBADMSG && r != -ENOMEM) {
		abort();
	}
	digest_done(&digest);
	section_reader_done(&section);
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zstd_unpacker *unpacker;
	static struct tape *tape;
	bool whole;

	if (!tape)
		tape = make_tape();
	if (!unpacker && zstd_unpacker_new(&unpacker) < 0)
		abort();
	whole = take_digest(data, size, tape, unpacker, SEGMENT_DIGEST | SEGMENT_PICTURE);
	/* a part of a sound digest is sound, too */
	must(take_digest(data, size, tape, unpacker, SEGMENT_DIGEST) || !whole);
	must(take_digest(data, size, tape, unpacker, SEGMENT_FRAMES) || !whole);
	return 0;
}
