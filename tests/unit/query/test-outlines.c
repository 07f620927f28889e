// SPDX-License-Identifier: GPL-2.0-only
/* The outlines of the index, of digests and of samples are the same, and agree with the samples. */
#include "tests/check.h"

#include <sqlite3.h>

#include "cli/commands/digest-adding.h"
#include "query/read/segment-outline.h"
#include "query/sums/window-sums.h"
#include "store/disk/index.h"
#include "tests/older-segments.h"
#include "tests/random-stores.h"
#include "tests/summed-stores.h"

static const struct filter all;

static void run_sql(const struct tapes_store *store, const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/index.sqlite", store->path);
	CHECK_EQ(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void open_store(const struct tapes_store *store, struct store_reader **ret_reader,
		       struct store_segments *segments)
{
	CHECK_EQ(store_reader_open(store->path, ret_reader, NULL), 0);
	CHECK_EQ(store_reader_find(*ret_reader, 0, UINT64_MAX, segments, NULL), 0);
}

struct seen {
	struct buffer bytes;
	size_t outlines, others;
};

static int see(void *context, const struct store_segment *segment, const struct outline *outline)
{
	struct seen *seen = context;

	buffer_text(&seen->bytes, segment->name);
	if (outline)
		CHECK_EQ(outline_encode(outline, &seen->bytes), 0);
	seen->outlines += outline != NULL;
	seen->others += outline == NULL;
	return 0;
}

/* Reads all outlines, only those of the index and of digests, or also those of samples. */
static struct seen see_all(const struct tapes_store *store, bool samples)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	struct seen seen = { 0 };

	open_store(store, &reader, &segments);
	CHECK_EQ(samples ? segment_outlines_read(reader, &segments, see, &seen)
			 : store_reader_outlines(reader, &segments, see, &seen),
		 0);
	array_done(&segments.list);
	return seen;
}

static void check_seen(struct seen *seen, const struct seen *expected)
{
	CHECK_EQ(seen->outlines, expected->outlines);
	CHECK_EQ(seen->bytes.size, expected->bytes.size);
	CHECK(memcmp(seen->bytes.data, expected->bytes.data, seen->bytes.size) == 0);
	buffer_done(&seen->bytes);
}

/* The index of the version before has no outlines; readers use it, and a writer replaces it. */
static void test_index(void)
{
	static const char *const changes[] = {
		"DELETE FROM outlines",
		"DROP TABLE outlines; PRAGMA user_version = 4",
		"DROP TABLE outlines",
		"UPDATE outlines SET cpus = zeroblob(40)",
	};
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct seen expected, seen;

	summed_store_init(&store);
	expected = see_all(&store, false);
	CHECK_EQ(expected.outlines, SUMMED_TAPES);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		printf("# %s\n", changes[i]);
		run_sql(&store, changes[i]);
		seen = see_all(&store, false);
		check_seen(&seen, &expected);
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK_EQ(store_writer_rebuild(writer, NULL), 0);
		writer = store_writer_close(writer);
		seen = see_all(&store, false);
		check_seen(&seen, &expected);
	}
	buffer_done(&expected.bytes);
}

static int count_row(void *context, const char *name, const void *data, size_t size)
{
	uint64_t *count = context;
	struct outline outline;

	CHECK(*name);
	CHECK_EQ(outline_decode(data, size, &outline), 0);
	outline_done(&outline);
	++*count;
	return 0;
}

static uint64_t count_outlines(const struct tapes_store *store)
{
	_cleanup_(cleanup_index) struct index *index = NULL;
	uint64_t rows = 0;
	char path[128];

	snprintf(path, sizeof(path), "%s/index.sqlite", store->path);
	CHECK_EQ(index_open(path, false, &index, NULL), 0);
	CHECK_EQ(index_all_bytes(index, INDEX_OUTLINES, count_row, &rows, NULL), 0);
	return rows;
}

static void see_problem(void *context, const char *file, const char *what)
{
	printf("# %s: %s\n", file, what);
}

static uint64_t count_problems(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_verified verified;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(store_reader_verify(reader, see_problem, NULL, NULL, &verified, NULL), 0);
	return verified.stale + verified.damaged;
}

/*
 * Opening for writing turns an index of the version before into a present one. It reads no segment
 * for that, because a recorder that begins waits for it. A rebuild adds the outlines.
 */
static void test_upgrade(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct seen expected, seen;

	summed_store_init(&store);
	expected = see_all(&store, false);
	run_sql(&store, "DROP TABLE outlines; PRAGMA user_version = 4");
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(count_outlines(&store), 0);
	seen = see_all(&store, false);
	check_seen(&seen, &expected);
	CHECK_EQ(count_problems(&store), 0);
	CHECK_EQ(store_writer_rebuild(writer, NULL), 0);
	CHECK_EQ(count_outlines(&store), SUMMED_TAPES);
	CHECK_EQ(count_problems(&store), 0);
	run_sql(&store, "UPDATE outlines SET cpus = zeroblob(40)");
	CHECK(count_problems(&store) > 0);
	buffer_done(&expected.bytes);
}

/* Returns the time of a thread name on a CPU, and the most time of any other one. */
static uint64_t share_ns(const struct tally *tally, uint32_t cpu, const char *comm,
			 uint64_t *ret_most_ns)
{
	uint64_t ns = 0;

	*ret_most_ns = 0;
	for (size_t i = 0; i < tally->shares.list.count; i++) {
		const struct tally_row *row = &tally->shares.list.items[i];
		const char *group = strings_at(&tally->names, row->b);

		/* an outline does not put kworkers together */
		if (row->a != cpu || strchr(group, '*'))
			continue;
		*ret_most_ns = MAX(*ret_most_ns, row->ns);
		ns = strcmp(group, comm) == 0 ? row->ns : ns;
	}
	return ns;
}

static void check_cpu(const struct tally *tally, const struct outline *outline,
		      const struct outline_cpu *cpu)
{
	const char *comm = strings_at(&outline->names, cpu->leader.comm);
	uint64_t most_ns, ns;

	CHECK(cpu->cpu < tally->cpus.count);
	for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
		CHECK_EQ(outline->sample_ns * cpu->n[kind], tally->cpus.items[cpu->cpu].ns[kind]);
	CHECK(cpu->leader.function_samples <= cpu->leader.comm_samples);
	if (!*comm || strchr(comm, '/'))
		return;
	ns = share_ns(tally, cpu->cpu, comm, &most_ns);
	CHECK_EQ(outline->sample_ns * cpu->leader.comm_samples, ns);
	CHECK_EQ(ns, most_ns);
}

struct compared {
	struct store_reader *reader;
	uint64_t outlines;
};

static int compare(void *context, const struct store_segment *segment,
		   const struct outline *outline)
{
	struct compared *compared = context;
	const struct window_sums_options options = {
		.question = { .window = { .from_ns = segment->begin_ns, .to_ns = segment->end_ns },
			      .filter = &all },
		.parts = TALLY_ALL,
		.samples_only = true,
		.threads = 1,
	};
	struct window_sums sums;

	if (!outline)
		return 0;
	CHECK_EQ(window_sums_read(compared->reader, &options, &sums, NULL), 0);
	/* the clock of another segment may have been set back into this one */
	for (size_t i = 0; sums.segments == 1 && i < outline->cpus.count; i++)
		check_cpu(sums.tally, outline, &outline->cpus.items[i]);
	compared->outlines += sums.segments == 1;
	window_sums_done(&sums);
	return 0;
}

/* Returns the number of outlines that were compared with their samples. */
static uint64_t compare_store(const struct tapes_store *store)
{
	struct store_segments segments = { 0 };
	struct compared compared = { 0 };

	open_store(store, &compared.reader, &segments);
	CHECK_EQ(segment_outlines_read(compared.reader, &segments, compare, &compared), 0);
	array_done(&segments.list);
	store_reader_close(compared.reader);
	return compared.outlines;
}

static void test_samples(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	uint64_t outlines = 0;

	summed_store_init(&store);
	CHECK(compare_store(&store) > 0);
	/* these are too small for a digest and an outline */
	for (int round = 0; round < 20; round++) {
		_cleanup_(tapes_store_done) struct tapes_store small;

		random_store_init(&small);
		outlines += compare_store(&small);
	}
	CHECK(outlines > 0);
}

/* Returns whether the segment of a store has a digest. */
static bool has_digest(const struct tapes_store *store)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_ALL | SEGMENT_DIGEST, 1 };
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct store_segments segments = { 0 };

	open_store(store, &reader, &segments);
	CHECK_EQ(segments.list.count, 1);
	CHECK_EQ(store_reader_load(reader, &segments.list.items[0], &want, &tape, NULL), 0);
	array_done(&segments.list);
	return tape->digest;
}

/* A segment that is too small for a digest stores its outline. */
static void test_stored(void)
{
	static const uint32_t samples[] = { 300, 600, 1000, 1500, 2000, 3000 };
	uint64_t stored = 0;

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		struct seen expected, seen;

		tapes_store_init(&store);
		tapes_store_put(&store, summed_tape(0, samples[i]));
		expected = see_all(&store, false);
		stored += expected.outlines && !has_digest(&store);
		CHECK_EQ(compare_store(&store), 1);
		run_sql(&store, "DELETE FROM outlines");
		seen = see_all(&store, false);
		check_seen(&seen, &expected);
		buffer_done(&expected.bytes);
	}
	CHECK(stored > 0);
}

static int forget_sums(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	if (!strstr(path, ".tape"))
		return 0;
	older_segments_rename(path, "digest");
	older_segments_rename(path, "outline");
	return 0;
}

static uint64_t add_sums(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	uint64_t count;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(digest_adding_run(store->path, reader, &count, NULL), 0);
	return count;
}

/* verify --rebuild gives older segments what they would have today: a digest, or an outline. */
static void test_older(void)
{
	for (uint32_t samples = 1000; samples <= SUMMED_SAMPLES; samples *= 90) {
		_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
		_cleanup_(tapes_store_done) struct tapes_store store;
		struct seen expected, seen;

		tapes_store_init(&store);
		for (unsigned int i = 0; i < SUMMED_TAPES; i++)
			tapes_store_put(&store, summed_tape(i * SUMMED_SECONDS, samples));
		expected = see_all(&store, false);
		nftw(store.path, forget_sums, 16, FTW_PHYS);
		CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
		CHECK_EQ(store_writer_rebuild(writer, NULL), 0);
		writer = store_writer_close(writer);
		seen = see_all(&store, false);
		CHECK_EQ(seen.outlines, 0);
		buffer_done(&seen.bytes);
		CHECK_EQ(add_sums(&store), expected.outlines);
		seen = see_all(&store, false);
		check_seen(&seen, &expected);
		buffer_done(&expected.bytes);
		CHECK_EQ(add_sums(&store), 0);
	}
}

CHECK_MAIN({ "outlines with any index are the same", test_index },
	   { "a writer upgrades an older index", test_upgrade },
	   { "outlines agree with the samples", test_samples },
	   { "a small segment stores its outline", test_stored },
	   { "older segments get their sums", test_older })
