// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers run while one thread records, seals and removes. They must find each segment exactly
 * once.
 */
#include "tests/check.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/fake-clock.h"
#include "tests/made-spools.h"

#define TAPES 40
#define SECONDS 3
#define READERS 3

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

/* Numbers of tapes, counted from 0. */
struct shared {
	struct tapes_store store;
	struct store_writer *writer;
	/* number of tapes that have a block on the disk */
	atomic_uint begun;
	/* number of tapes that retention may have removed */
	atomic_uint removed;
	atomic_bool ends;
	atomic_uint looks;
};

static void removes(void *context, const struct store_segment *segment, const char *why)
{
	struct shared *shared = context;

	atomic_store(&shared->removed, segment->sequence + 1);
}

/* Returns whether all went well, because CHECK works only in the main thread. */
static bool record(struct shared *shared)
{
	/* the tapes are old, and without age_by_clock the store would distrust the clock */
	struct store_limits limits = { .max_bytes = UINT64_MAX, .age_by_clock = true };
	bool good = true;

	for (unsigned int i = 0; i < TAPES && good; i++) {
		struct store_retained retained;
		struct spooling spooling;

		/* only the last eight stay */
		limits.max_age_ns = clock_ns(CLOCK_REALTIME) - TAPES_REALTIME -
				    (i > 8 ? i - 8 : 0) * SECONDS * NSEC_PER_SEC;
		spooling_init(&spooling, store_writer_number(shared->writer), i * SECONDS);
		for (unsigned int s = 0; s < SECONDS && good; s++) {
			good = spooling_put(&spooling, shared->writer) == 0;
			atomic_store(&shared->begun, i + 1);
		}
		good = good &&
		       store_writer_seal(shared->writer, spooling.tape, SEGMENT_HASTY, NULL,
					 NULL) == 0 &&
		       store_writer_retain(shared->writer, &limits, false, removes, shared,
					   &retained, NULL) == 0;
		spooling_done(&spooling);
	}
	return good;
}

static const char *load_one(struct store_reader *reader, const struct store_segment *segment)
{
	struct tape *tape = NULL;
	int r = store_reader_load(reader, segment, &everything, &tape, NULL);
	const char *wrong = NULL;

	if (r == -ENOENT)
		return NULL; /* a segment may be gone; the caller has checked that */
	if (r < 0)
		return "a segment cannot be loaded";
	if (tape->losses.count)
		wrong = "a loss";
	else if (tape->samples.count % 4 || tape->samples.count > 4 * SECONDS ||
		 tape->samples.count < segment->samples)
		wrong = "samples are missing";
	tape_free(tape);
	return wrong;
}

/* Each tape from `removed` up to, but not including, `begun` must be found exactly once. */
static const char *look(struct shared *shared, struct store_listing *listing)
{
	struct store_segments segments = { 0 };
	struct store_reader *reader = NULL;
	unsigned int begun = atomic_load(&shared->begun), removed, next;
	const char *wrong = NULL;

	if (store_reader_open(shared->store.path, &reader, NULL) == 0)
		store_reader_use_listing(reader, listing);
	if (!reader || store_reader_find(reader, 0, UINT64_MAX, &segments, NULL) < 0)
		wrong = "the store cannot be read";
	removed = next = atomic_load(&shared->removed);
	for (size_t i = 0; i < segments.list.count && !wrong; i++) {
		const struct store_segment *segment = &segments.list.items[i];

		if (segment->sequence < removed)
			continue;
		if (segment->sequence != next++)
			wrong = "one is missing, or there twice";
		else if (*segment->damage)
			wrong = segment->damage;
		else
			wrong = load_one(reader, segment);
	}
	if (!wrong && next < begun && removed < begun)
		wrong = "the last one is missing";
	array_done(&segments.list);
	store_reader_close(reader);
	return wrong;
}

static void *reader_main(void *context)
{
	struct shared *shared = context;
	struct store_listing *listing = store_listing_new();
	const char *wrong = NULL;
	bool uses = false;

	/* every other look takes from the listing what the one before left there */
	while (!wrong && !atomic_load(&shared->ends)) {
		uses = !uses && listing;
		wrong = look(shared, uses ? listing : NULL);
		atomic_fetch_add(&shared->looks, 1);
	}
	store_listing_free(listing);
	return (void *)wrong;
}

static void test_readers(void)
{
	static struct shared shared;
	pthread_t threads[READERS];
	const char *wrong = NULL;
	bool recorded;

	tapes_store_init(&shared.store);
	CHECK_EQ(store_writer_open(shared.store.path, &shared.writer, NULL), 0);
	for (size_t i = 0; i < READERS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, reader_main, &shared), 0);
	recorded = record(&shared);
	atomic_store(&shared.ends, true);
	for (size_t i = 0; i < READERS; i++) {
		void *said;

		pthread_join(threads[i], &said);
		wrong = wrong ? wrong : said;
	}
	printf("# %u looks, %u of %u tapes removed\n", shared.looks, shared.removed, TAPES);
	store_writer_close(shared.writer);
	tapes_store_done(&shared.store);
	CHECK(recorded);
	if (wrong)
		CHECK_FAIL("%s", wrong);
	CHECK(shared.looks >= READERS && shared.removed > TAPES / 2 && shared.removed < TAPES);
}

/* Gets numbers while other threads do the same. */
static void *number_main(void *context)
{
	struct store_writer *writer = context;
	uint64_t sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += store_writer_number(writer);
	return (void *)sum;
}

static void test_numbers(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	pthread_t threads[4];
	uint64_t sum = 0;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, number_main, writer), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *part;

		pthread_join(threads[i], &part);
		sum += (uint64_t)part;
	}
	CHECK_EQ(sum, 4000ull * 3999 / 2);
}

CHECK_MAIN({ "readers beside a writer find each segment once", test_readers },
	   { "each number is given out once", test_numbers })
