// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <stdlib.h>

#include "query/text/parallel-text.h"
#include "tests/selections.h"

#define PIECES 500

/* Pieces of all sizes: some are empty, and some are larger than one write. */
static void make(const void *context, size_t piece, struct buffer *text)
{
	size_t lines = piece % 50 == 49 ? 30000 : piece % 7 * 100;

	for (size_t i = 0; i < lines; i++)
		buffer_printf(text, "%zu %zu\n", piece, i);
}

static char *text_of(unsigned int threads, size_t count)
{
	struct parallel_text parallel = { .make = make, .count = count, .threads = threads };

	return SELECTIONS_TEXT(parallel_text_write(&parallel, output));
}

static void test_same(void)
{
	static const size_t counts[] = { 0, 1, 2, 3, PIECES };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		_cleanup_free_ char *alone = text_of(0, counts[i]), *four = text_of(4, counts[i]);

		CHECK_EQ(strlen(alone), strlen(four));
		CHECK(strcmp(alone, four) == 0);
	}
}

static void fail_at(const void *context, size_t piece, struct buffer *text)
{
	buffer_text(text, "x");
	text->failed |= piece == *(const size_t *)context;
}

static void test_no_memory(void)
{
	for (size_t at = 0; at < 20; at++)
		for (unsigned int threads = 0; threads < 4; threads++) {
			struct parallel_text parallel = {
				.make = fail_at, .context = &at, .count = 20, .threads = threads
			};
			struct output output;

			CHECK_EQ(output_open(&output, "/dev/null", false, NULL), 0);
			CHECK_EQ(parallel_text_write(&parallel, &output), -ENOMEM);
			output_done(&output);
		}
}

/* After a write error, the threads make no more pieces. */
static void test_full(void)
{
	struct parallel_text parallel = { .make = make, .count = 1000000, .threads = 3 };
	struct output output;

	CHECK_EQ(output_open(&output, "/dev/full", false, NULL), 0);
	CHECK_EQ(parallel_text_write(&parallel, &output), 0);
	CHECK_EQ(output_commit(&output, NULL), -ENOSPC);
}

CHECK_MAIN({ "threads write the same text", test_same },
	   { "a lack of memory is reported", test_no_memory },
	   { "a full disk stops the work", test_full })
