// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints all that a segment holds as the text of tests/tape-text.h: what a reader that was written from docs/FORMAT.md alone is held beside.
 *
 *   dump-tape FILE.tape     each segment of the file
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tape/segment.h"
#include "tests/tape-text.h"

static int dump(const struct segment_input *input, struct buffer *out, struct error *error)
{
	static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = segment_decode(input, &everything, &tape, error);

	return r == 0 && tape_text(tape, true, out) < 0 ? -ENOMEM : r;
}

int main(int argc, char **argv)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct segment_summary summary;
	_cleanup_free_ char *data = NULL;
	struct error error = { 0 };
	size_t size;
	int r;

	if (argc != 2)
		return 2;
	r = file_read(argv[1], 1 << 30, &data, &size);
	if (r < 0)
		error_set(&error, r, "%s", strerror(-r));
	for (size_t at = 0; r == 0 && at < size; at += summary.bytes) {
		struct segment_input input = segment_input_memory(data + at, size - at);

		r = dump(&input, &out, &error);
		if (r == 0)
			r = segment_peek(data + at, size - at, size - at, &summary, &error);
	}
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], error.text);
		return 1;
	}
	return fwrite(out.data, 1, out.size, stdout) == out.size ? 0 : 1;
}
