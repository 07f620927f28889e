// SPDX-License-Identifier: GPL-2.0-only
/*
 * A reader with a listing gives the same answers as a reader without one, whatever happens to the
 * store between two looks. The clock is fake, because a listing trusts only folders that have been
 * still for a while.
 */
#include "tests/check.h"

#define FAKE_CLOCK_RUNS_REALTIME
#include "tests/fake-clock.h"
#include "tests/made-spools.h"

#define SEGMENTS 12

struct listing_test {
	struct tapes_store store;
	struct store_writer *writer;
	struct store_listing *listing;
};

static void start(struct listing_test *test)
{
	*test = (struct listing_test){ .listing = store_listing_new() };
	CHECK(test->listing);
	tapes_store_init(&test->store);
	CHECK_EQ(store_writer_open(test->store.path, &test->writer, NULL), 0);
}

static void end(struct listing_test *test)
{
	store_listing_free(test->listing);
	store_writer_close(test->writer);
	tapes_store_done(&test->store);
}

/* Lets so much time pass that the folder of segments counts as still. */
static void wait_until_still(void)
{
	fake_clock_pass(10 * NSEC_PER_SEC);
}

static void listing_seal(struct listing_test *test, unsigned int number)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(number * 10, number * 10 + 10);

	tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 1, "x"), 0);
	tape->sequence = number;
	CHECK_EQ(store_writer_seal(test->writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
}

static void in_store(struct listing_test *test, const char *folder, const char *command)
{
	char text[256];

	snprintf(text, sizeof(text), "cd '%s/%s' && %s", test->store.path, folder, command);
	CHECK_EQ(system(text), 0);
}

static void in_segments(struct listing_test *test, const char *command)
{
	in_store(test, "segments", command);
}

static void ask(struct listing_test *test, struct store_listing *listing,
		struct store_segments *segments, struct store_segments *some,
		struct store_totals *totals)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;

	CHECK_EQ(store_reader_open(test->store.path, &reader, NULL), 0);
	store_reader_use_listing(reader, listing);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, segments, NULL), 0);
	CHECK_EQ(store_reader_find(reader, TAPES_REALTIME + 15 * NSEC_PER_SEC,
				   TAPES_REALTIME + 35 * NSEC_PER_SEC, some, NULL),
		 0);
	CHECK_EQ(store_reader_totals(reader, totals, NULL), 0);
}

static void check_same_segments(const struct store_segments *is, const struct store_segments *want)
{
	CHECK_EQ(is->list.count, want->list.count);
	for (size_t i = 0; i < MIN(is->list.count, want->list.count); i++) {
		const struct store_segment *a = &is->list.items[i], *b = &want->list.items[i];

		CHECK_STR(a->name, b->name);
		CHECK_STR(a->damage, b->damage);
		CHECK_EQ(a->begin_ns, b->begin_ns);
		CHECK_EQ(a->samples, b->samples);
		CHECK_EQ(a->bytes, b->bytes);
		CHECK_EQ(a->unsealed, b->unsealed);
		CHECK_EQ(a->vanished, b->vanished);
	}
}

/* Asks with and without the listing. Returns the number of segments. */
static size_t check_same(struct listing_test *test)
{
	struct store_segments is = { 0 }, want = { 0 }, some = { 0 }, some_wanted = { 0 };
	struct store_totals totals, totals_wanted;
	size_t count;

	ask(test, test->listing, &is, &some, &totals);
	ask(test, NULL, &want, &some_wanted, &totals_wanted);
	check_same_segments(&is, &want);
	check_same_segments(&some, &some_wanted);
	CHECK_EQ(totals.segments, totals_wanted.segments);
	CHECK_EQ(totals.segment_bytes, totals_wanted.segment_bytes);
	CHECK_EQ(totals.samples, totals_wanted.samples);
	CHECK_EQ(totals.damaged, totals_wanted.damaged);
	CHECK_EQ(totals.vanished, totals_wanted.vanished);
	CHECK_EQ(totals.unsealed, totals_wanted.unsealed);
	CHECK_EQ(totals.begin_ns, totals_wanted.begin_ns);
	CHECK_EQ(totals.end_ns, totals_wanted.end_ns);
	count = is.list.count;
	array_done(&is.list);
	array_done(&want.list);
	array_done(&some.list);
	array_done(&some_wanted.list);
	return count;
}

static void test_grows(void)
{
	struct listing_test test;

	start(&test);
	CHECK_EQ(check_same(&test), 0);
	for (unsigned int i = 0; i < SEGMENTS; i++) {
		listing_seal(&test, i);
		CHECK_EQ(check_same(&test), i + 1);
		if (i % 3 == 0)
			wait_until_still();
		CHECK_EQ(check_same(&test), i + 1);
	}
	wait_until_still();
	CHECK_EQ(check_same(&test), SEGMENTS);
	CHECK_EQ(check_same(&test), SEGMENTS);
	end(&test);
}

static void nothing(void *context, const struct store_segment *segment, const char *why)
{
}

static void test_shrinks(void)
{
	struct store_limits limits = { .max_bytes = UINT64_MAX, .age_by_clock = true };
	struct store_retained retained;
	struct listing_test test;

	start(&test);
	for (unsigned int i = 0; i < SEGMENTS; i++)
		listing_seal(&test, i);
	wait_until_still();
	CHECK_EQ(check_same(&test), SEGMENTS);
	limits.max_age_ns = clock_ns(CLOCK_REALTIME) - TAPES_REALTIME - 45 * NSEC_PER_SEC;
	CHECK_EQ(store_writer_retain(test.writer, &limits, false, nothing, NULL, &retained, NULL),
		 0);
	CHECK_EQ(check_same(&test), SEGMENTS - 4);
	/* retention did not remove this one, and later it is there again */
	in_segments(&test, "mv *-0000000007.tape ..");
	CHECK_EQ(check_same(&test), SEGMENTS - 4);
	wait_until_still();
	CHECK_EQ(check_same(&test), SEGMENTS - 4);
	in_segments(&test, "mv ../*-0000000007.tape .");
	CHECK_EQ(check_same(&test), SEGMENTS - 4);
	end(&test);
}

static void test_damage(void)
{
	struct listing_test test;

	start(&test);
	for (unsigned int i = 0; i < SEGMENTS; i++)
		listing_seal(&test, i);
	in_segments(&test, "truncate -s 40 *-0000000003.tape");
	wait_until_still();
	CHECK_EQ(check_same(&test), SEGMENTS);
	in_segments(&test, "echo no segment >of-another-0000000042.tape");
	CHECK_EQ(check_same(&test), SEGMENTS + 1);
	in_segments(&test, "rm of-another-0000000042.tape");
	CHECK_EQ(check_same(&test), SEGMENTS);
	wait_until_still();
	CHECK_EQ(check_same(&test), SEGMENTS);
	/* a change that the folder does not show is seen after an hour */
	in_segments(&test, "truncate -s 40 *-0000000005.tape");
	fake_clock_pass(2 * 3600 * NSEC_PER_SEC);
	CHECK_EQ(check_same(&test), SEGMENTS);
	end(&test);
}

static void test_spools(void)
{
	struct listing_test test;
	struct spooling spooling;

	start(&test);
	for (unsigned int i = 0; i < 3; i++)
		listing_seal(&test, i);
	wait_until_still();
	/* the tapes of listing_seal() are of another boot */
	spooling_init(&spooling, store_writer_number(test.writer), 100);
	CHECK_EQ(spooling_put(&spooling, test.writer), 0);
	CHECK_EQ(check_same(&test), 4);
	in_store(&test, ".", "ln spool/*.spool kept");
	CHECK_EQ(spooling_put(&spooling, test.writer), 0);
	CHECK_EQ(check_same(&test), 4);
	CHECK_EQ(store_writer_seal(test.writer, spooling.tape, SEGMENT_HASTY, NULL, NULL), 0);
	CHECK_EQ(check_same(&test), 4);
	/* for a moment, a tape is in both folders */
	in_store(&test, "segments", "for f in *; do cp ../kept ../spool/${f%.tape}.spool; done");
	CHECK_EQ(check_same(&test), 4);
	wait_until_still();
	CHECK_EQ(check_same(&test), 4);
	spooling_done(&spooling);
	end(&test);
}

CHECK_MAIN({ "segments come", test_grows },
	   { "segments go, by retention and otherwise, and one comes back", test_shrinks },
	   { "damaged segments, at once or after an hour", test_damage },
	   { "spools, and tapes that are sealed and in a spool", test_spools })
