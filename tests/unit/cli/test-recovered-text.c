// SPDX-License-Identifier: GPL-2.0-only
/* The text of `record` about an interrupted recording. */
#include "tests/check.h"

#include "base/clock.h"
#include "cli/answer/recovered-text.h"

static const char *text_of(struct store_recovered recovered)
{
	static char text[256];

	recovered_text(&recovered, text, sizeof(text));
	return text;
}

static void test_samples(void)
{
	CHECK_STR(text_of((struct store_recovered){ .tapes = 1,
						    .samples = 7,
						    .begin_ns = NSEC_PER_SEC,
						    .end_ns = 3 * NSEC_PER_SEC }),
		  "recovered 2 s of an interrupted recording: 7 samples");
	CHECK_STR(text_of((struct store_recovered){ .tapes = 2,
						    .samples = 1,
						    .begin_ns = NSEC_PER_SEC,
						    .end_ns = 3 * NSEC_PER_SEC }),
		  "recovered 2 s of an interrupted recording: 1 sample");
}

static void test_no_sample(void)
{
	const char *expected = "an interrupted recording left no samples to recover";

	CHECK_STR(
		text_of((struct store_recovered){ .tapes = 1, .begin_ns = 1000, .end_ns = 828000 }),
		expected);
	CHECK_STR(text_of((struct store_recovered){ .tapes = 1, .begin_ns = 1000, .end_ns = 1000 }),
		  expected);
}

static void test_parts(void)
{
	CHECK_STR(text_of((struct store_recovered){
			  .tapes = 1, .samples = 7, .end_ns = NSEC_PER_SEC, .damaged = 1 }),
		  "recovered 1 s of an interrupted recording: 7 samples; a part of it was damaged");
	CHECK_STR(
		text_of((struct store_recovered){ .unread = 1 }),
		"an interrupted recording left no samples to recover; a part of it cannot be read "
		"now and stays in the spool");
}

CHECK_MAIN({ "recovered samples are reported", test_samples },
	   { "a recorder that was killed before its next sample is reported", test_no_sample },
	   { "damaged and unreadable parts are reported", test_parts })
