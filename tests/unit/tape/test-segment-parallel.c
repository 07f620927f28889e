// SPDX-License-Identifier: GPL-2.0-only
/* Several threads decode a segment to the same tape as one thread. */
#include "tests/check.h"

#include "tape/segment/segment.h"
#include "tests/random-tape.h"

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

static int decode(const struct buffer *bytes, struct segment_want want, unsigned int threads,
		  struct tape **ret_tape, struct error *error)
{
	struct segment_input input = segment_input_memory(bytes->data, bytes->size);

	want.threads = threads;
	return segment_decode(&input, &want, ret_tape, error);
}

/* 50 s of 7 CPUs with every stack. That gives several blocks, because a block is ten seconds. */
static struct tape *tape_of_blocks(void)
{
	struct tape *tape = random_tape(12);
	struct tape_sample sample = { .period = 1 };

	CHECK(tape->threads.count);
	tape->end_ns = tape->begin_ns + 50 * NSEC_PER_SEC;
	tape->samples.count = 0;
	for (uint32_t i = 0; i < 80000; i++) {
		sample.time_ns = tape->begin_ns + i * 600000ull;
		sample.cpu = i % 7;
		sample.thread = i * 31 % tape->threads.count;
		sample.stack = i * 17 % tape->stacks.count;
		sample.frame = i * 13 % tape->frames.count;
		CHECK_EQ(array_push(&tape->samples, sample), 0);
	}
	return tape;
}

#define CHECK_ROWS(a, b)                                                                  \
	do {                                                                              \
		CHECK_EQ((a).count, (b).count);                                           \
		CHECK(!(a).count ||                                                       \
		      memcmp((a).items, (b).items, (a).count * sizeof(*(a).items)) == 0); \
	} while (0)

static void check_same(const struct tape *a, const struct tape *b)
{
	CHECK_ROWS(a->samples, b->samples);
	CHECK_ROWS(a->stacks, b->stacks);
	CHECK_ROWS(a->frames, b->frames);
	CHECK_ROWS(a->modules, b->modules);
	CHECK_ROWS(a->threads, b->threads);
	CHECK_EQ(a->sums.count, b->sums.count);
	CHECK_EQ(strings_count(&a->strings), strings_count(&b->strings));
}

/* The whole segment, a window that begins and ends within blocks, and a window after all blocks. */
static void test_same(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tape_of_blocks();
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	uint64_t begin_ns = tape_to_realtime(tape, tape->begin_ns, NULL);
	const struct segment_want wants[] = {
		everything,
		{ begin_ns + 15 * NSEC_PER_SEC, begin_ns + 32 * NSEC_PER_SEC, SEGMENT_SAMPLES, 1 },
		{ UINT64_MAX - 1, UINT64_MAX, SEGMENT_SAMPLES | SEGMENT_SUMS, 1 },
	};

	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, 1 << 30, &bytes), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
		_cleanup_(cleanup_tape) struct tape *alone = NULL;

		CHECK_EQ(decode(&bytes, wants[i], 1, &alone, NULL), 0);
		for (unsigned int threads = 2; threads < 9; threads += 3) {
			_cleanup_(cleanup_tape) struct tape *together = NULL;

			CHECK_EQ(decode(&bytes, wants[i], threads, &together, NULL), 0);
			check_same(alone, together);
		}
	}
}

/* Several threads report the same damage as one thread. */
static void test_damage(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = random_tape(2);
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	CHECK_EQ(segment_encode(tape, SEGMENT_HASTY, 1 << 30, &bytes), 0);
	for (size_t at = 0; at < bytes.size; at += 1 + bytes.size / 100) {
		_cleanup_(cleanup_tape) struct tape *one = NULL, *three = NULL;
		struct error alone = { 0 }, together = { 0 };

		bytes.data[at] ^= 1;
		CHECK(decode(&bytes, everything, 1, &one, &alone) < 0);
		CHECK(decode(&bytes, everything, 3, &three, &together) < 0);
		CHECK_STR(alone.text, together.text);
		bytes.data[at] ^= 1;
	}
}

CHECK_MAIN({ "threads decode the same", test_same },
	   { "threads report the same damage", test_damage })
