/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Encodes tapes and decodes them from memory. All functions CHECK. */

#include "tape/segment/segment.h"
#include "tests/check.h"
#include "tests/dumped-tape.h"

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

static inline void encode(const struct tape *tape, enum segment_effort effort, struct buffer *bytes)
{
	CHECK_EQ(segment_encode(tape, effort, 1 << 30, bytes), 0);
}

static inline int decode_part(const void *data, size_t size, const struct segment_want *want,
			      struct tape **ret_tape, struct error *error)
{
	struct segment_input input = segment_input_memory(data, size);

	return segment_decode(&input, want, ret_tape, error);
}

/*
 * Decodes from memory of exactly the segment's size, so that the sanitizer sees a read beyond its
 * end.
 */
static inline int decode(const void *data, size_t size, struct tape **ret_tape, struct error *error)
{
	_cleanup_free_ void *copy = malloc(size + !size);

	memcpy(copy, data, size);
	return decode_part(copy, size, &everything, ret_tape, error);
}

static inline void check_same(const struct tape *a, const struct tape *b)
{
	_cleanup_(buffer_done) struct buffer left = { 0 }, right = { 0 };
	size_t at = 0, line = 0;

	CHECK_EQ(tape_text(a, false, &left), 0);
	CHECK_EQ(tape_text(b, false, &right), 0);
	while (at < MIN(left.size, right.size) && left.data[at] == right.data[at]) {
		at++;
		if (left.data[at - 1] == '\n')
			line = at;
	}
	if (at < left.size || at < right.size)
		CHECK_FAIL("differ: %.*s | %.*s", (int)MIN(left.size - line, (size_t)200),
			   left.data + line, (int)MIN(right.size - line, (size_t)200),
			   right.data + line);
}
