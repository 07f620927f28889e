/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stores of a few random tapes, which are the same in each run: tapes of two boots that overlap,
 * with the wall clock set forward and back. A sample's period identifies it across all tapes.
 */

#include "store/write/store-writer.h"
#include "tests/tapes.h"

#define RANDOM_SECONDS 40
#define RANDOM_SAMPLES_MAX 4000

static inline uint32_t random_below(uint32_t below)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 32) % below;
}

/* Adds samples at sorted times, which are whole microseconds. */
static inline void add_random_samples(struct tape *tape, uint64_t *id)
{
	static const char *const comms[] = { "kubelet", "kworker/0:1", "", "a;b" };
	uint32_t threads[8], stacks[3];
	uint64_t ns = tape->begin_ns;

	for (uint32_t i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = tapes_thread(tape, i / 2, i, comms[i % ARRAY_SIZE(comms)]);
	stacks[0] = 0;
	stacks[1] = tapes_kernel(tape, "a;b;c");
	stacks[2] = tapes_kernel(tape, "a;b;d");
	for (;;) {
		ns += random_below(400000) * 1000;
		if (ns >= tape->end_ns)
			return;
		tapes_sample(tape, ns, random_below(4), threads[random_below(ARRAY_SIZE(threads))],
			     stacks[random_below(ARRAY_SIZE(stacks))]);
		tape->samples.items[tape->samples.count - 1].period = ++*id;
	}
}

/*
 * Makes a tape of one of two boots, at any time. In some tapes, the wall clock is set by some
 * seconds.
 */
static inline struct tape *random_tape(uint64_t *id)
{
	uint64_t begin_ns = TAPES_PERF + random_below(RANDOM_SECONDS) * NSEC_PER_SEC,
		 end_ns = begin_ns + (1 + random_below(8)) * NSEC_PER_SEC;
	struct tape *tape = tapes_bare(begin_ns, end_ns);
	int64_t offset_ns = (int64_t)(TAPES_REALTIME - TAPES_PERF);

	if (random_below(2))
		tape->facts.items[0].value = tapes_string(tape, "another-boot");
	for (uint32_t i = random_below(3) + 1; i-- && begin_ns < end_ns;) {
		tapes_anchor(tape, begin_ns, begin_ns + offset_ns);
		begin_ns += (1 + random_below(3000)) * NSEC_PER_MSEC;
		offset_ns += random_below(2) ? ((int64_t)random_below(8000) - 4000) * 1000000 : 0;
	}
	add_random_samples(tape, id);
	return tape;
}

static inline void random_store_init(struct tapes_store *store)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	uint64_t id = 0;

	tapes_store_init(store);
	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	for (uint32_t i = 0, count = 1 + random_below(8); i < count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = random_tape(&id);

		tape->sequence = i;
		CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
	}
	CHECK(id < RANDOM_SAMPLES_MAX);
}
