/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Tapes for a sealer, and the segments that the sealer made of them. All functions CHECK. */

#include <semaphore.h>

#include "recorder/sink/sealer.h"
#include "tests/tapes.h"

#define SAMPLES 2000
#define MEMORY (3 * 100000)

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

static inline struct tape *make_tape(struct sealer *sealer, unsigned int begin, uint64_t samples)
{
	struct tape *tape = tapes_new(begin, begin + 1);
	uint32_t thread = tapes_thread(tape, 1, 1, "x"), stack = tapes_kernel(tape, "a;b;c");

	for (uint64_t i = 0; i < samples; i++)
		tapes_sample(tape, tape->begin_ns + i * 1000, 0, thread, stack);
	tape->sequence = sealer_next_number(sealer);
	return tape;
}

static inline struct sealer_status status_of(struct sealer *sealer)
{
	struct sealer_status status = { 0 };

	sealer_status(sealer, &status);
	return status;
}

struct found {
	size_t segments;
	uint64_t samples;
	uint64_t unsaved;
	size_t unsaved_rows;
	struct tape_loss last_unsaved;
};

static inline struct found look(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	struct found found = { 0 };

	if (store_reader_open(store->path, &reader, &error) < 0 ||
	    store_reader_find(reader, 0, UINT64_MAX, &segments, &error) < 0)
		CHECK_FAIL("%s", error.text);
	found.segments = segments.list.count;
	for (size_t i = 0; i < segments.list.count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;

		if (store_reader_load(reader, &segments.list.items[i], &everything, &tape, &error) <
		    0)
			CHECK_FAIL("%s", error.text);
		found.samples += tape->samples.count;
		for (size_t k = 0; k < tape->losses.count; k++)
			if (tape->losses.items[k].kind == TAPE_LOSS_UNSAVED) {
				found.unsaved += tape->losses.items[k].count;
				found.unsaved_rows++;
				found.last_unsaved = tape->losses.items[k];
			}
	}
	array_done(&segments.list);
	return found;
}

/* A sealer that searches for names stops here until the test releases it. */
struct gate {
	sem_t reached;
	sem_t opened;
};

static inline int wait_at_gate(void *context, const struct finder *finder,
			       struct finder_request *request, struct finder_files *ret_files)
{
	struct gate *gate = context;

	(void)finder;
	(void)request;
	(void)ret_files;
	sem_post(&gate->reached);
	while (sem_wait(&gate->opened) < 0)
		;
	return -ENOENT;
}

static inline struct tape *make_tape_of_program(struct sealer *sealer, uint64_t samples)
{
	struct tape *tape = make_tape(sealer, 0, samples);
	uint32_t module = tapes_module(tape, "/a/program", TAPE_MODULE_ELF), frame;

	CHECK_EQ(tape_add_frame(tape, module, 0x10, &frame), 0);
	return tape;
}
