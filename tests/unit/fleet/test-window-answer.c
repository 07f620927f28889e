// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers of a server about a window. A hostile server must not cost more than its bytes allow:
 * each bound is tried with an answer that one step more would make honest.
 */
#include "tests/check.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/row-binary.h"
#include "fleet/window-answer.h"
#include "tape/segment/segment.h"
#include "tape/tape.h"

#define BEGIN_US 1741765000000000ull
#define SECOND_US 1000000ull

struct answer {
	struct window_answer parts;
	struct error error;
	int result;
};

static void put_span(struct answer *answer, uint64_t from_s, uint64_t to_s, uint64_t sequence)
{
	struct buffer *rows = &answer->parts.spans;

	buffer_u64(rows, BEGIN_US + from_s * SECOND_US);
	buffer_u64(rows, BEGIN_US + to_s * SECOND_US);
	row_put_text(rows, "boot");
	buffer_u64(rows, sequence);
	buffer_u64(rows, 0);
	buffer_varint(rows, 0);
	buffer_varint(rows, 0);
}

static void put_sample(struct answer *answer, uint64_t at_s, uint64_t stack)
{
	struct buffer *rows = &answer->parts.samples;

	buffer_u64(rows, BEGIN_US + at_s * SECOND_US);
	buffer_u16(rows, 0);
	buffer_u32(rows, 7);
	buffer_u32(rows, 7);
	row_put_text(rows, "comm");
	row_put_text(rows, "/");
	buffer_u64(rows, 1);
	buffer_u64(rows, stack);
}

/* A stack of frames at one address, each with a name of its own. */
static void put_stack(struct answer *answer, uint64_t hash, unsigned int depth)
{
	struct buffer *rows = &answer->parts.stacks;

	buffer_u64(rows, hash);
	buffer_varint(rows, depth);
	for (unsigned int i = 0; i < depth; i++) {
		char name[40];

		snprintf(name, sizeof(name), "f%llu_%u", (unsigned long long)hash, i);
		row_put_text(rows, name);
	}
	buffer_varint(rows, depth);
	for (unsigned int i = 0; i < depth; i++)
		row_put_text(rows, "/bin/x");
	buffer_varint(rows, depth);
	for (unsigned int i = 0; i < depth; i++)
		buffer_u8(rows, 1);
	for (int numbers = 0; numbers < 2; numbers++) {
		buffer_varint(rows, depth);
		for (unsigned int i = 0; i < depth; i++)
			buffer_u64(rows, 0x1000);
	}
}

static void put_loss(struct answer *answer, int64_t from_us, int64_t to_us, uint64_t count)
{
	buffer_u64(&answer->parts.losses, BEGIN_US + (uint64_t)from_us);
	buffer_u64(&answer->parts.losses, BEGIN_US + (uint64_t)to_us);
	buffer_u32(&answer->parts.losses, TAPE_LOSS_SAMPLES);
	buffer_u32(&answer->parts.losses, 0);
	buffer_u64(&answer->parts.losses, count);
}

/* Decodes the answer and frees it. Returns the result; the text of an error is in the answer. */
static int decode_to(struct answer *answer, struct buffer *tapes)
{
	int r = window_answer_encode(&answer->parts, 0, INT64_MAX, tapes, &answer->error);

	buffer_done(&answer->parts.spans);
	buffer_done(&answer->parts.samples);
	buffer_done(&answer->parts.stacks);
	buffer_done(&answer->parts.losses);
	return r;
}

static int decode(struct answer *answer)
{
	_cleanup_(buffer_done) struct buffer tapes = { 0 };

	return decode_to(answer, &tapes);
}

static void check_refused(struct answer *answer, int result, const char *text)
{
	CHECK_EQ(decode(answer), result);
	if (!strstr(answer->error.text, text))
		CHECK_FAIL("%s instead of %s", answer->error.text, text);
}

static void test_honest(void)
{
	struct answer answer = { 0 };

	put_span(&answer, 0, 10, 1);
	put_span(&answer, 10, 20, 2);
	/* two windows of one segment, which touch */
	put_span(&answer, 20, 30, 2);
	put_sample(&answer, 5, 77);
	put_sample(&answer, 10, 77);
	put_sample(&answer, 29, 78);
	put_stack(&answer, 77, 3);
	put_stack(&answer, 78, 3);
	CHECK_EQ(decode(&answer), 2);
}

/* Decodes the next tape of the answer's bytes. */
static struct tape *next_tape(const struct buffer *tapes, size_t *at)
{
	struct segment_input input = segment_input_memory(tapes->data + *at, tapes->size - *at);
	const struct segment_want all = { .to_ns = UINT64_MAX, .parts = SEGMENT_ALL };
	struct segment_summary summary;
	struct tape *tape = NULL;

	CHECK_EQ(segment_peek(input.data, input.size, input.size, &summary, NULL), 0);
	CHECK_EQ(segment_decode(&input, &all, &tape, NULL), 0);
	*at += summary.bytes;
	return tape;
}

static void check_next(const struct buffer *tapes, size_t *at, size_t samples, uint64_t lost)
{
	_cleanup_(cleanup_tape) struct tape *tape = next_tape(tapes, at);
	uint64_t counted = 0;

	for (size_t i = 0; i < tape->losses.count; i++)
		counted += tape->losses.items[i].count;
	CHECK_EQ(tape->samples.count, samples);
	CHECK_EQ(counted, lost);
}

/* What two segments have in common is in one of them. */
static void test_once(void)
{
	_cleanup_(buffer_done) struct buffer tapes = { 0 };
	struct answer answer = { 0 };
	size_t at = 0;

	put_span(&answer, 0, 10, 1);
	put_span(&answer, 9, 20, 2);
	/* a recorder that was killed */
	put_span(&answer, 5, 15, 3);
	put_span(&answer, 3, 4, 4);
	put_sample(&answer, 8, 77);
	put_sample(&answer, 9, 77);
	put_sample(&answer, 12, 77);
	put_sample(&answer, 15, 77);
	put_stack(&answer, 77, 1);
	put_loss(&answer, -500000, -400000, 1);
	put_loss(&answer, 9000000, 11000000, 10);
	put_loss(&answer, 15000000, 15000000, 100);
	put_loss(&answer, 20500000, 20600000, 1000);
	/* too far from all segments */
	put_loss(&answer, -3000000, -2000000, 10000);
	put_loss(&answer, 22000000, 23000000, 10000);
	CHECK_EQ(decode_to(&answer, &tapes), 3);
	check_next(&tapes, &at, 2, 11);
	check_next(&tapes, &at, 1, 0);
	check_next(&tapes, &at, 1, 1100);
	CHECK_EQ(at, tapes.size);
}

static void test_damaged(void)
{
	struct answer order = { 0 }, twice = { 0 }, lacking = { 0 };

	put_span(&order, 0, 10, 1);
	put_stack(&order, 77, 1);
	put_sample(&order, 5, 77);
	put_sample(&order, 4, 77);
	check_refused(&order, -EBADMSG, "the order of the samples");
	put_span(&twice, 0, 10, 1);
	put_stack(&twice, 77, 1);
	put_stack(&twice, 77, 1);
	check_refused(&twice, -EBADMSG, "comes twice");
	put_span(&lacking, 0, 10, 1);
	put_sample(&lacking, 5, 77);
	check_refused(&lacking, -EBADMSG, "lacks the stack 77");
}

static void test_many(void)
{
	struct answer many = { 0 };

	for (int i = 0; i < 20000; i++)
		put_span(&many, i, i + 1, 2 * i);
	check_refused(&many, -EFBIG, "more than 16384 segments");
}

/* Few bytes that are much work: names without number at one address. */
static void test_work(void)
{
	struct answer frames = { 0 };

	put_span(&frames, 0, 1000, 1);
	for (int i = 0; i < 3; i++) {
		put_stack(&frames, 100 + i, 1000);
		put_sample(&frames, i, 100 + i);
	}
	check_refused(&frames, -EFBIG, "too much work");
}

CHECK_MAIN({ "an answer becomes a tape for each segment", test_honest },
	   { "damaged answers are refused", test_damaged },
	   { "samples and losses count once", test_once },
	   { "segments without number are refused", test_many },
	   { "answers that are too much work are refused", test_work })
