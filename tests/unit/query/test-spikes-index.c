// SPDX-License-Identifier: GPL-2.0-only
/* Finds saturated CPUs with and without the index, and with damaged or older parts of a store. */
#include "tests/check.h"

#include "base/file.h"
#include "query/sums/spikes.h"
#include "store/disk/index.h"
#include "tests/older-segments.h"
#include "tests/spiky.h"

static void find_all(const struct tapes_store *store, struct buffer *json, uint64_t *read)
{
	struct spikes_options options = usual();
	struct spikes spikes;

	find(store, &options, &spikes);
	spikes_put_json(&spikes, json);
	*read = spikes.read;
	spikes_done(&spikes);
}

static void check_same(const struct tapes_store *store, const struct buffer *expected)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };
	uint64_t read;

	find_all(store, &json, &read);
	CHECK_EQ(json.size, expected->size);
	CHECK(memcmp(json.data, expected->data, json.size) == 0);
	CHECK_EQ(read, 0);
}

static void index_path(const struct tapes_store *store, char path[128])
{
	snprintf(path, 128, "%s/index.sqlite", store->path);
}

/* The answer is the same with an index, without one, and with a rebuilt one. */
static void test_index(void)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(buffer_done) struct buffer expected = { 0 };
	struct tapes_store store;
	struct error error = { 0 };
	char path[128];
	uint64_t read;

	make_store(&store, 40, spiky_loads, ARRAY_SIZE(spiky_loads), 0, 0);
	find_all(&store, &expected, &read);
	CHECK(expected.size);
	index_path(&store, path);
	index_discard(path);
	check_same(&store, &expected);
	CHECK_EQ(store_writer_open(store.path, &writer, &error), 0);
	CHECK_EQ(store_writer_rebuild(writer, &error), 0);
	writer = store_writer_close(writer);
	check_same(&store, &expected);
	tapes_store_done(&store);
}

struct rows {
	struct buffer list;
	size_t count;
};

static int see_row(void *context, const char *name, const void *data, size_t size)
{
	struct rows *rows = context;

	buffer_bytes(&rows->list, name, strlen(name) + 1);
	buffer_bytes(&rows->list, data, size);
	rows->count++;
	return 0;
}

static void read_rows(const struct tapes_store *store, struct rows *rows)
{
	_cleanup_(cleanup_index) struct index *index = NULL;
	struct error error = { 0 };
	char path[128];

	*rows = (struct rows){ 0 };
	index_path(store, path);
	CHECK_EQ(index_open(path, false, &index, &error), 0);
	CHECK_EQ(index_all_bytes(index, INDEX_BUSY, see_row, rows, &error), 0);
}

/*
 * Rebuilt rows equal those that sealing wrote. Retention removes the rows of the segments that it
 * removes.
 */
static void test_rows(void)
{
	const struct store_limits limits = { .max_age_ns = UINT64_MAX, .max_bytes = 1 };
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct store_retained retained;
	struct tapes_store store;
	struct error error = { 0 };
	struct rows before, after;

	make_store(&store, 40, spiky_loads, ARRAY_SIZE(spiky_loads), 0, 0);
	read_rows(&store, &before);
	CHECK_EQ(before.count, 4);
	CHECK_EQ(store_writer_open(store.path, &writer, &error), 0);
	CHECK_EQ(store_writer_rebuild(writer, &error), 0);
	read_rows(&store, &after);
	CHECK_EQ(after.list.size, before.list.size);
	CHECK(memcmp(after.list.data, before.list.data, after.list.size) == 0);
	buffer_done(&after.list);
	buffer_done(&before.list);
	CHECK_EQ(store_writer_retain(writer, &limits, false, NULL, NULL, &retained, &error), 0);
	CHECK(retained.removed > 0);
	writer = store_writer_close(writer);
	read_rows(&store, &after);
	CHECK_EQ(after.count, 4 - retained.removed);
	buffer_done(&after.list);
	tapes_store_done(&store);
}

/* With any byte of the index changed, the answer is the same, because the segments supply it. */
static void test_damaged_index(void)
{
	_cleanup_(buffer_done) struct buffer expected = { 0 };
	struct tapes_store store;
	char path[128];
	uint64_t read;
	long size;
	FILE *file;

	make_store(&store, 20, spiky_loads, 1, 0, 0);
	find_all(&store, &expected, &read);
	CHECK(expected.size);
	index_path(&store, path);
	file = fopen(path, "r+");
	CHECK(file);
	CHECK_EQ(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	/*
	 * any byte includes the header; another version of SQLite's format counts as a missing
	 * index
	 */
	for (long at = 0; at < size; at += 1 + at % 13) {
		int byte;

		CHECK_EQ(fseek(file, at, SEEK_SET), 0);
		byte = fgetc(file);
		CHECK_EQ(fseek(file, at, SEEK_SET), 0);
		fputc(byte ^ 0x55, file);
		CHECK_EQ(fflush(file), 0);
		/* the store refuses the index of a newer perftape */
		if (at < 60 || at > 63)
			check_same(&store, &expected);
		CHECK_EQ(fseek(file, at, SEEK_SET), 0);
		fputc(byte, file);
		CHECK_EQ(fflush(file), 0);
	}
	fclose(file);
	tapes_store_done(&store);
}

/*
 * The index still contains the data of a damaged segment. Without the index, the segment is a gap.
 */
static void test_damaged_segment(void)
{
	struct spikes_options options = usual();
	struct tapes_store store;
	struct spikes spikes;
	char text[256];

	make_store(&store, 40, spiky_loads, 1, 0, 0);
	snprintf(text, sizeof(text),
		 "truncate -s 100 \"$(ls %s/segments/*.tape | tail -n +2 | head -1)\"", store.path);
	CHECK_EQ(system(text), 0);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.list.count, 1);
	check_spike(&spikes.list.items[0], 1, 7, 33);
	CHECK_EQ(spikes.coverage.covered_ns, 40 * NSEC_PER_SEC);
	CHECK_EQ(spikes.coverage.damaged, 1);
	spikes_done(&spikes);
	index_path(&store, text);
	index_discard(text);
	find(&store, &options, &spikes);
	CHECK_EQ(spikes.coverage.damaged, 1);
	CHECK_EQ(spikes.coverage.covered_ns, 30 * NSEC_PER_SEC);
	CHECK_EQ(spikes.list.count, 2);
	check_spike(&spikes.list.items[0], 1, 7, 10);
	check_spike(&spikes.list.items[1], 1, 20, 33);
	spikes_done(&spikes);
	tapes_store_done(&store);
}

static int see_file(const char *path, const struct stat *about, int kind, struct FTW *at)
{
	if (strstr(path, ".tape"))
		older_segments_rename(path, "busy");
	return 0;
}

/* Segments without the section are read as a whole, and the answer says so. */
static void test_older(void)
{
	_cleanup_(buffer_done) struct buffer expected = { 0 }, json = { 0 };
	struct tapes_store store;
	char path[128];
	uint64_t read;

	make_store(&store, 40, spiky_loads, ARRAY_SIZE(spiky_loads), 0, 0);
	find_all(&store, &expected, &read);
	CHECK_EQ(read, 0);
	nftw(store.path, see_file, 16, FTW_PHYS);
	index_path(&store, path);
	index_discard(path);
	find_all(&store, &json, &read);
	CHECK_EQ(read, 4);
	CHECK_EQ(json.size, expected.size);
	CHECK(memcmp(json.data, expected.data, json.size) == 0);
	tapes_store_done(&store);
}

CHECK_MAIN({ "the index does not change the answer", test_index },
	   { "rows of the index follow the segments", test_rows },
	   { "a damaged index does not change the answer", test_damaged_index },
	   { "a damaged segment is known by the index", test_damaged_segment },
	   { "segments of an older version are read", test_older })
