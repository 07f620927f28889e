// SPDX-License-Identifier: GPL-2.0-only
/* The rows of a walk over a window. test-selection.c checks the coverage after such a walk. */
#include "tests/check.h"

#include "query/read/cursor.h"
#include "query/read/selection.h"
#include "tests/random-stores.h"
#include "tests/made-spools.h"

#define AT(seconds) (TAPES_REALTIME + (uint64_t)((int64_t)((seconds)*1e9)))

static const struct filter all;

static struct store_reader *open_reader(const struct tapes_store *store)
{
	struct store_reader *reader;
	struct error error = { 0 };

	if (store_reader_open(store->path, &reader, &error) < 0)
		CHECK_FAIL("%s", error.text);
	return reader;
}

static struct question between(uint64_t from_ns, uint64_t to_ns, const struct filter *filter)
{
	return (struct question){ .window = { .from_ns = from_ns, .to_ns = to_ns },
				  .filter = filter };
}

static struct cursor *open_cursor(struct store_reader *reader, const struct question *question)
{
	struct cursor *cursor;

	CHECK_EQ(cursor_open(reader, question, &cursor, NULL), 0);
	return cursor;
}

/* Walks to the end and checks the order of the rows. Returns their number. */
static size_t walk(struct cursor *cursor, const struct question *question)
{
	struct cursor_row row;
	uint64_t last_ns = 0;
	size_t count = 0;
	int r;

	while ((r = cursor_next(cursor, &row, NULL)) > 0) {
		CHECK(row.realtime_ns >= question->window.from_ns);
		CHECK(row.realtime_ns < question->window.to_ns);
		CHECK(row.realtime_ns >= last_ns);
		CHECK(row.sample < row.tape->samples.count);
		last_ns = row.realtime_ns;
		count++;
	}
	CHECK_EQ(r, 0);
	return count;
}

static size_t count_rows(struct store_reader *reader, const struct question *question)
{
	_cleanup_(cleanup_cursor) struct cursor *cursor = open_cursor(reader, question);

	return walk(cursor, question);
}

/* A sample each tenth of a second, of two threads in turn. */
static struct tape *steady(unsigned int begin, unsigned int end)
{
	struct tape *tape = tapes_new(begin, end);
	uint32_t kubelet = tapes_thread(tape, 10, 11, "kubelet");
	uint32_t idle = tapes_thread(tape, 0, 0, "swapper/1");
	uint32_t stack = tapes_kernel(tape, "entry_SYSCALL_64;do_syscall_64;shrink_node");

	tape->threads.items[kubelet].cgroup = tapes_string(tape, "/system.slice/kubelet.service");
	for (uint64_t ns = tape->begin_ns, i = 0; ns < tape->end_ns; ns += 100 * NSEC_PER_MSEC, i++)
		tapes_sample(tape, ns, i % 4, i % 2 ? idle : kubelet, stack);
	return tape;
}

static void put_steady(struct tapes_store *store, unsigned int count, unsigned int seconds)
{
	tapes_store_init(store);
	for (unsigned int i = 0; i < count; i++)
		tapes_store_put(store, steady(i * seconds, (i + 1) * seconds));
}

/* A walk opens only the segments of its window, one after the other. */
static void test_opens_what_it_needs(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_cursor) struct cursor *one = NULL, *two = NULL;
	struct question within = between(AT(4.5), AT(5.5), &all);
	struct question across = between(AT(5.5), AT(6.5), &all);
	struct cursor_row row;

	put_steady(&store, 5, 2);
	reader = open_reader(&store);
	one = open_cursor(reader, &within);
	CHECK_EQ(walk(one, &within), 10);
	CHECK_EQ(cursor_segments_read(one), 1);
	CHECK_EQ(cursor_coverage(one)->covered_ns, NSEC_PER_SEC);
	two = open_cursor(reader, &across);
	CHECK_EQ(cursor_next(two, &row, NULL), 1);
	CHECK_EQ(cursor_segments_read(two), 1);
	CHECK_EQ(walk(two, &across), 9);
	CHECK_EQ(cursor_segments_read(two), 2);
	/* a call after the end returns the end again */
	CHECK_EQ(cursor_next(two, &row, NULL), 0);
}

static void test_near(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_cursor) struct cursor *cursor = NULL;
	struct question question = between(AT(0), AT(10), &all);
	struct cursor_row row;

	put_steady(&store, 5, 2);
	reader = open_reader(&store);
	cursor = open_cursor(reader, &question);
	CHECK_EQ(cursor_next(cursor, &row, NULL), 1);
	CHECK_EQ(row.realtime_ns, AT(0));
	cursor_skip_to(cursor, AT(1.05));
	CHECK_EQ(cursor_next(cursor, &row, NULL), 1);
	CHECK_EQ(row.realtime_ns, AT(1.1));
	cursor_skip_to(cursor, AT(8));
	CHECK_EQ(cursor_next(cursor, &row, NULL), 1);
	CHECK_EQ(row.realtime_ns, AT(8));
	cursor_skip_to(cursor, AT(3)); /* the walk does not go back */
	CHECK_EQ(walk(cursor, &question), 19);
	/* the skipped time counts as recorded */
	CHECK(coverage_is_whole(cursor_coverage(cursor)));
	cursor_skip_to(cursor, AT(9.9));
	CHECK_EQ(cursor_next(cursor, &row, NULL), 0);
}

/* A kept tape outlives the cursor, and contains only the samples of the walk. */
static void test_keep(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_tape) struct tape *kept = NULL;
	struct question question = between(AT(1), AT(5), &all);
	struct cursor *cursor;
	struct cursor_row row;

	put_steady(&store, 3, 2);
	reader = open_reader(&store);
	cursor = open_cursor(reader, &question);
	for (int i = 0; i < 15; i++)
		CHECK_EQ(cursor_next(cursor, &row, NULL), 1);
	CHECK_EQ(row.number, 1);
	kept = row.tape;
	cursor_keep_tape(cursor);
	walk(cursor, &question);
	cursor_close(cursor);
	CHECK_EQ(kept->samples.count, 20);
	CHECK_EQ(tape_to_realtime(kept, kept->samples.items[row.sample].time_ns, NULL), AT(2.4));
}

static void test_filters(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(filter_done) struct filter pid = { 0 }, tid = { 0 }, cpu = { 0 };
	struct filter comm = { .comm = "kube*" }, cgroup = { .cgroup = "/system.slice/*" };
	struct filter none = { .comm = "kube*", .cgroup = "" }, whole = { .comm = "kube" };
	const struct {
		struct filter *filter;
		size_t rows;
		const char *described;
	} rows[] = {
		{ &pid, 40, "pid 0,10" },
		{ &tid, 20, "tid 11,99" },
		{ &cpu, 10, "" },
		{ &comm, 20, "comm kube*" },
		{ &cgroup, 20, "cgroup /system.slice/*" },
		{ &none, 0, "comm kube*, cgroup " },
		{ &whole, 0, "comm kube" },
	};

	put_steady(&store, 2, 2);
	reader = open_reader(&store);
	CHECK_EQ(filter_parse_ids("0,10", &pid.pids, NULL), 0);
	CHECK_EQ(filter_parse_ids("11,99", &tid.tids, NULL), 0);
	CHECK_EQ(cpu_filter_parse("3", &cpu.cpus, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct question question = between(AT(0), AT(4), rows[i].filter);
		_cleanup_(buffer_done) struct buffer text = { 0 };

		printf("# %s\n", rows[i].described);
		CHECK_EQ(count_rows(reader, &question), rows[i].rows);
		filter_describe_threads(rows[i].filter, &text);
		buffer_u8(&text, 0);
		CHECK_STR((char *)text.data, rows[i].described);
	}
}

static void test_id_lists(void)
{
	static const char *const wrong[] = { "",
					     ",",
					     "1,",
					     ",1",
					     "-1",
					     "1 2",
					     "2147483648",
					     "a",
					     "1,,2",
					     "0x3",
					     "99999999999999999999" };
	_cleanup_(filter_done) struct filter filter = { 0 };
	struct error error = { 0 };

	CHECK_EQ(filter_parse_ids("2147483647,0", &filter.pids, NULL), 0);
	CHECK_EQ(filter.pids.list.items[0], INT32_MAX);
	CHECK_EQ(filter.pids.list.items[1], 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_EQ(filter_parse_ids(wrong[i], &filter.pids, &error), -EINVAL);
	CHECK_EQ(filter.pids.list.count, 2);
}

static int name_all(void *context, struct tape *tape)
{
	unsigned int *calls = context;

	CHECK(tape->unsealed);
	(*calls)++;
	for (size_t i = 1; i < tape->frames.count; i++)
		tape->frames.items[i].symbol = tapes_string(tape, "named");
	return 0;
}

/* The walk includes the spool, whose frames the hook names. */
static void test_spool(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(cleanup_selection) struct selection *selection = NULL;
	_cleanup_(spooling_done) struct spooling spooling;
	struct question question = between(AT(1), AT(5), &all);
	unsigned int calls = 0;

	put_steady(&store, 1, 2);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	spooling_init(&spooling, store_writer_number(writer), 2);
	CHECK_EQ(spooling_put(&spooling, writer), 0);
	CHECK_EQ(spooling_put(&spooling, writer), 0);
	question.name = name_all;
	question.context = &calls;
	reader = open_reader(&store);
	CHECK_EQ(selection_make(reader, &question, &selection, NULL), 0);
	CHECK_EQ(calls, 1);
	CHECK_EQ(selection->rows.count, 10 + 8);
	CHECK_EQ(selection->tapes.count, 2);
	CHECK_EQ(selection->coverage.covered_ns, 3 * NSEC_PER_SEC);
	CHECK_EQ(selection->coverage.named, selection->coverage.frames);
}

struct counted {
	/* by period */
	uint8_t times[RANDOM_SAMPLES_MAX];
	size_t count;
};

/* Counts all samples of the store one by one. */
static void count_slowly(struct store_reader *reader, const struct question *question,
			 struct counted *counted)
{
	const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };
	struct store_segments segments = { 0 };

	memset(counted, 0, sizeof(*counted));
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	for (size_t i = 0; i < segments.list.count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;

		CHECK_EQ(store_reader_load(reader, &segments.list.items[i], &everything, &tape,
					   NULL),
			 0);
		for (size_t n = 0; n < tape->samples.count; n++) {
			const struct tape_sample *sample = &tape->samples.items[n];
			uint64_t ns = tape_to_realtime(tape, sample->time_ns, NULL);

			if (ns < question->window.from_ns || ns >= question->window.to_ns ||
			    !cpu_filter_passes(&question->filter->cpus, sample->cpu))
				continue;
			counted->times[sample->period]++;
			counted->count++;
		}
	}
	array_done(&segments.list);
}

static void count_by_cursor(struct store_reader *reader, const struct question *question,
			    struct counted *counted)
{
	_cleanup_(cleanup_cursor) struct cursor *cursor = open_cursor(reader, question);
	uint64_t last_ns = 0;
	struct cursor_row row;

	memset(counted, 0, sizeof(*counted));
	while (cursor_next(cursor, &row, NULL) > 0) {
		CHECK(row.realtime_ns >= last_ns);
		last_ns = row.realtime_ns;
		counted->times[row.tape->samples.items[row.sample].period]++;
		counted->count++;
	}
}

static struct question random_question(const struct filter *filter)
{
	double from = random_below(RANDOM_SECONDS * 1000) / 1000.0 - 4;

	return between(AT(from), AT(from + random_below(20000) / 1000.0 + 0.001), filter);
}

/*
 * Each sample of the window appears once and in order of time. Walks of single CPUs add up to a
 * walk of all CPUs.
 */
static void test_random_windows(void)
{
	for (int round = 0; round < 30; round++) {
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;

		random_store_init(&store);
		reader = open_reader(&store);
		for (int i = 0; i < 5; i++) {
			_cleanup_(filter_done) struct filter some = { 0 }, others = { 0 };
			struct question question = random_question(&all);
			struct counted expected, counted;
			size_t shared;

			count_slowly(reader, &question, &expected);
			count_by_cursor(reader, &question, &counted);
			CHECK_EQ(counted.count, expected.count);
			CHECK(!memcmp(&counted, &expected, sizeof(counted)));
			CHECK_EQ(cpu_filter_parse("1,3", &some.cpus, NULL), 0);
			CHECK_EQ(cpu_filter_parse("0,2,4-9", &others.cpus, NULL), 0);
			question.filter = &some;
			shared = count_rows(reader, &question);
			question.filter = &others;
			shared += count_rows(reader, &question);
			CHECK_EQ(shared, expected.count);
			some.comm = others.comm = "k*";
			shared = count_rows(reader, &question);
			others.comm = "[!k]*";
			shared += count_rows(reader, &question);
			others.comm = "";
			shared += count_rows(reader, &question);
			others.comm = NULL;
			CHECK_EQ(shared, count_rows(reader, &question));
		}
	}
}

CHECK_MAIN({ "a walk opens only the segments that it needs", test_opens_what_it_needs },
	   { "a walk can skip to a moment", test_near },
	   { "a kept tape outlives its cursor", test_keep },
	   { "filters choose samples", test_filters },
	   { "lists of processes choose samples", test_id_lists },
	   { "the walk includes the spool", test_spool },
	   { "random windows contain each sample once", test_random_windows })
