// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads any bytes as the answers of a server to the question for a window. The tapes that come out
 * must be sound. The input has the sizes of the first three answers, then the four answers.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "fleet/window-answer.h"
#include "tape/segment/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct reader *input, size_t size, struct buffer *to)
{
	size_t part = MIN(size, reader_left(input));

	if (part)
		buffer_bytes(to, reader_take(input, part), part);
}

static void check_tapes(const struct buffer *tapes)
{
	struct segment_summary summary;

	for (size_t at = 0; at < tapes->size; at += summary.bytes) {
		struct segment_input input =
			segment_input_memory(tapes->data + at, tapes->size - at);
		const struct segment_want want = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
		_cleanup_(cleanup_tape) struct tape *tape = NULL;
		struct error error = { 0 };
		int r = segment_peek(tapes->data + at, tapes->size - at, tapes->size - at, &summary,
				     &error);

		if (r == 0)
			r = segment_decode(&input, &want, &tape, &error);
		if (r < 0 && r != -ENOMEM)
			abort();
		if (r < 0 || !summary.bytes)
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct window_answer answer = { 0 };
	_cleanup_(buffer_done) struct buffer tapes = { 0 };
	struct error error = { 0 };
	struct reader input;
	size_t spans, samples, stacks;

	reader_init(&input, data, size);
	spans = reader_u16(&input);
	samples = reader_u16(&input);
	stacks = reader_u16(&input);
	if (!reader_failed(&input)) {
		take(&input, spans, &answer.spans);
		take(&input, samples, &answer.samples);
		take(&input, stacks, &answer.stacks);
		take(&input, SIZE_MAX, &answer.losses);
		if (window_answer_encode(&answer, 0, INT64_MAX, &tapes, &error) > 0)
			check_tapes(&tapes);
	}
	buffer_done(&answer.spans);
	buffer_done(&answer.samples);
	buffer_done(&answer.stacks);
	buffer_done(&answer.losses);
	return 0;
}
