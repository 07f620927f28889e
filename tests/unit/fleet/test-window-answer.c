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

static void put_losses(struct answer *answer, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		buffer_u64(&answer->parts.losses, BEGIN_US);
		buffer_u64(&answer->parts.losses, BEGIN_US);
		buffer_u32(&answer->parts.losses, 1);
		buffer_u32(&answer->parts.losses, 0);
		buffer_u64(&answer->parts.losses, 1);
	}
}

/* Decodes the answer and frees it. Returns the result; the text of an error is in the answer. */
static int decode(struct answer *answer)
{
	_cleanup_(buffer_done) struct buffer tapes = { 0 };
	int r = window_answer_encode(&answer->parts, 0, INT64_MAX, &tapes, &answer->error);

	buffer_done(&answer->parts.spans);
	buffer_done(&answer->parts.samples);
	buffer_done(&answer->parts.stacks);
	buffer_done(&answer->parts.losses);
	return r;
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
	put_losses(&answer, 2);
	CHECK_EQ(decode(&answer), 2);
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

/* Many segments that each have all samples. */
static void test_overlap(void)
{
	struct answer answer = { 0 }, many = { 0 };

	for (int i = 0; i < 10; i++)
		put_span(&answer, 0, 1000, i);
	for (int i = 0; i < 1000; i++)
		put_sample(&answer, i, 77);
	put_stack(&answer, 77, 1);
	check_refused(&answer, -EBADMSG, "overlap");
	for (int i = 0; i < 20000; i++)
		put_span(&many, i, i + 1, 2 * i);
	check_refused(&many, -EFBIG, "more than 16384 segments");
}

/* Few bytes that are much work: names without number at one address, and losses in each segment. */
static void test_work(void)
{
	struct answer frames = { 0 }, losses = { 0 };

	put_span(&frames, 0, 1000, 1);
	for (int i = 0; i < 3; i++) {
		put_stack(&frames, 100 + i, 1000);
		put_sample(&frames, i, 100 + i);
	}
	check_refused(&frames, -EFBIG, "too much work");
	for (int i = 0; i < 16000; i++)
		put_span(&losses, i, i + 1, 2 * i);
	put_losses(&losses, 100000);
	check_refused(&losses, -EFBIG, "too much work");
}

CHECK_MAIN({ "an answer becomes a tape for each segment", test_honest },
	   { "damaged answers are refused", test_damaged },
	   { "segments that overlap, or without number, are refused", test_overlap },
	   { "answers that are too much work are refused", test_work })
