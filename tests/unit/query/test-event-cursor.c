// SPDX-License-Identifier: GPL-2.0-only
/* Reads the trace events of a window of a store. */
#include "query/read/event-cursor.h"

#include "tape/tape-events.h"
#include "tests/tapes.h"

static struct tapes_store store;

static void add(struct tape *tape, unsigned int at_ms, uint32_t cpu, const char *comm,
		const char *name, const char *path)
{
	struct tape_event event = { .time_ns = TAPES_PERF + at_ms * NSEC_PER_MSEC, .cpu = cpu };

	event.thread = tapes_thread(tape, 70 + cpu, 70 + cpu, comm);
	CHECK_EQ(tape_add_event(tape, &event, name), 0);
	CHECK_EQ(tape_add_event_number(tape, "id", at_ms), 0);
	CHECK_EQ(tape_add_event_field(tape, "path", path, strlen(path)), 0);
}

static void make_store(void)
{
	struct tape *first = tapes_new(0, 10), *second = tapes_new(10, 20);
	struct tape_event several = { .time_ns = TAPES_PERF + 9 * NSEC_PER_SEC };

	tapes_store_init(&store);
	/* in the order in which the rings of two CPUs give them */
	add(first, 5000, 1, "runc", "cgroup:cgroup_mkdir", "/a");
	add(first, 7000, 1, "runc", "cgroup:cgroup_rmdir", "/a b\n\"");
	add(first, 6000, 0, "sh", "sched:sched_process_exit", "");
	CHECK_EQ(tape_add_no_thread(first, &several.thread), 0);
	CHECK_EQ(tape_add_count(first, &several, "sched:sched_process_exec", 12, 2 * NSEC_PER_SEC),
		 0);
	CHECK_EQ(tape_add_event_number(first, "/bin/sh", 9), 0);
	CHECK_EQ(tape_add_event_number(first, TAPE_EVENT_OTHERS, 3), 0);
	CHECK_EQ(array_push(&first->losses, (struct tape_loss){ TAPE_LOSS_EVENTS, TAPE_ALL_CPUS,
								TAPES_PERF + NSEC_PER_SEC,
								TAPES_PERF + 2 * NSEC_PER_SEC, 5 }),
		 0);
	add(second, 12000, 1, "runc", "cgroup:cgroup_release", "/a");
	tapes_store_put(&store, second);
	tapes_store_put(&store, first);
}

struct shown {
	bool json;
	struct buffer text;
};

static int make(void *context, const struct event_cursor_row *row, struct buffer *text)
{
	if (((struct shown *)context)->json)
		event_cursor_put_json(row, text);
	else
		event_cursor_put_line(row, true, text);
	return 0;
}

static int take(void *context, const void *text, size_t size)
{
	buffer_bytes(&((struct shown *)context)->text, text, size);
	return 0;
}

static void ask(const struct filter *filter, const char *glob, bool json, const char *expected)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct shown shown = { .json = json };
	struct event_cursor_options options = {
		.question = { .window = { .from_ns = TAPES_REALTIME,
					  .to_ns = TAPES_REALTIME + 20 * NSEC_PER_SEC },
			      .filter = filter },
		.names = { { glob }, glob != NULL },
		.make = make,
		.take = take,
		.context = &shown,
	};
	struct event_cursor_totals told;
	struct error error = { 0 };

	CHECK_EQ(store_reader_open(store.path, &reader, &error), 0);
	if (event_cursor_run(reader, &options, &told, &error) < 0)
		CHECK_FAIL("%s", error.text);
	CHECK_EQ(told.coverage.lost_events, 5);
	CHECK_EQ(told.coverage.lost_samples, 0);
	CHECK(coverage_is_whole(&told.coverage));
	event_cursor_totals_done(&told);
	buffer_u8(&shown.text, 0);
	CHECK_STR((char *)shown.text.data, expected);
	buffer_done(&shown.text);
}

static void test_lines(void)
{
	struct filter none = { 0 };

	make_store();
	ask(&none, NULL, false,
	    "2026-11-18T03:12:05.000000Z  runc 71  CPU 1  cgroup:cgroup_mkdir  id=5000 "
	    "path=/a\n"
	    "2026-11-18T03:12:06.000000Z  sh 70  CPU 0  sched:sched_process_exit  id=6000 "
	    "path=\"\"\n"
	    "2026-11-18T03:12:07.000000Z  runc 71  CPU 1  cgroup:cgroup_rmdir  id=7000 "
	    "path=\"/a b\\u000a\\\"\"\n"
	    "2026-11-18T03:12:09.000000Z  -  sched:sched_process_exec  12 in 2 s: 9 /bin/sh, 3 "
	    "others\n"
	    "2026-11-18T03:12:12.000000Z  runc 71  CPU 1  cgroup:cgroup_release  id=12000 "
	    "path=/a\n");
	tapes_store_done(&store);
}

/* A segment from an attacker may contain any names. */
static int make_and_look(void *context, const struct event_cursor_row *row, struct buffer *text)
{
	size_t *most = context;

	event_cursor_put_line(row, true, text);
	*most = MAX(*most, text->size);
	return 0;
}

static int leave(void *context, const void *text, size_t size)
{
	return 0;
}

/* Each segment overlaps the one before. The cursor keeps only the rows that must wait. */
static void test_overlapping(void)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct filter none = { 0 };
	size_t most = 0;
	struct event_cursor_options options = {
		.question = { .window = { .from_ns = TAPES_REALTIME,
					  .to_ns = TAPES_REALTIME + 1000 * NSEC_PER_SEC },
			      .filter = &none },
		.make = make_and_look,
		.take = leave,
		.context = &most,
	};
	struct event_cursor_totals told;

	tapes_store_init(&store);
	for (unsigned int i = 0; i < 50; i++) {
		struct tape *tape = tapes_new(10 * i, 10 * i + 15);

		add(tape, 10000 * i + 12000, 1, "runc", "cgroup:cgroup_mkdir", "/a");
		tapes_store_put(&store, tape);
	}
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(event_cursor_run(reader, &options, &told, NULL), 0);
	CHECK_EQ(told.count, 50);
	CHECK(most && most < 500);
	event_cursor_totals_done(&told);
	tapes_store_done(&store);
}

static void test_hostile_names(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 10);
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct tape_event event = { .time_ns = TAPES_PERF };
	struct event_cursor_row row = { .tape = tape, .realtime_ns = TAPES_REALTIME };

	CHECK_EQ(tape_add_no_thread(tape, &event.thread), 0);
	CHECK_EQ(tape_add_event(tape, &event, "a:\033]0;x\a"), 0);
	CHECK_EQ(tape_add_event_field(tape, "k\033[2J", "v", 1), 0);
	row.event = &tape->events.items[0];
	event_cursor_put_line(&row, true, &text);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data,
		  "2026-11-18T03:12:00.000000Z  -  \"a:\\u001b]0;x\\u0007\"  \"k\\u001b[2J\"=v\n");
}

static void test_json(void)
{
	struct filter none = { 0 };

	make_store();
	ask(&none, "*exec", true,
	    "{\"time\":\"2026-11-18T03:12:09.000000Z\",\"event\":\"sched:sched_process_exec\","
	    "\"count\":12,\"since\":\"2026-11-18T03:12:07.000000Z\",\"passed_over\":false,"
	    "\"of\":{\"/bin/sh\":9,"
	    "\"others\":3}}\n");
	ask(&none, "*release", true,
	    "{\"time\":\"2026-11-18T03:12:12.000000Z\",\"event\":\"cgroup:cgroup_release\","
	    "\"cpu\":1,\"pid\":71,\"tid\":71,\"comm\":\"runc\",\"cgroup\":null,"
	    "\"fields\":{\"id\":\"12000\",\"path\":\"/a\"}}\n");
	tapes_store_done(&store);
}

/* Returns how many started programs a window reports if a count of 12 covers the seconds 7 to 9. */
static uint64_t counted(double from, double to)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	static const struct filter none;
	struct shown shown = { .json = true };
	struct event_cursor_options options = {
		.question = { .window = { .from_ns = TAPES_REALTIME + (uint64_t)(from * 1e9),
					  .to_ns = TAPES_REALTIME + (uint64_t)(to * 1e9) },
			      .filter = &none },
		.names = { { "*exec" }, 1 },
		.make = make,
		.take = take,
		.context = &shown,
	};
	struct event_cursor_totals told;

	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(event_cursor_run(reader, &options, &told, NULL), 0);
	event_cursor_totals_done(&told);
	buffer_done(&shown.text);
	return told.count;
}

/*
 * A count covers a stretch of time, and belongs to each window that contains a part of this
 * stretch.
 */
static void test_counted(void)
{
	make_store();
	CHECK_EQ(counted(0, 20), 1);
	CHECK_EQ(counted(8, 8.5), 1);
	CHECK_EQ(counted(6.5, 7.5), 1);
	CHECK_EQ(counted(0, 7), 0);
	CHECK_EQ(counted(9, 9.5), 1);
	CHECK_EQ(counted(9.001, 20), 0);
	tapes_store_done(&store);
}

static void test_filters(void)
{
	static const char exit_line[] =
		"2026-11-18T03:12:06.000000Z  sh 70  CPU 0  sched:sched_process_exit  id=6000 "
		"path=\"\"\n";
	struct filter by_comm = { .comm = "s?" }, by_cpu = { 0 };

	make_store();
	CHECK_EQ(cpu_filter_parse("0", &by_cpu.cpus, NULL), 0);
	ask(&by_comm, NULL, false, exit_line);
	ask(&by_cpu, NULL, false, exit_line);
	filter_done(&by_cpu);
	tapes_store_done(&store);
}

static void add_passed_over(struct tape *tape, const char *name, uint64_t count)
{
	struct tape_event event = { .time_ns = TAPES_PERF + NSEC_PER_SEC };

	CHECK_EQ(tape_add_no_thread(tape, &event.thread), 0);
	CHECK_EQ(tape_add_count(tape, &event, name, count, 1000), 0);
	CHECK_EQ(array_push(&tape->losses,
			    (struct tape_loss){ TAPE_LOSS_EVENTS, TAPE_ALL_CPUS,
						TAPES_PERF + NSEC_PER_SEC,
						TAPES_PERF + 2 * NSEC_PER_SEC, count }),
		 0);
}

static int make_none(void *context, const struct event_cursor_row *row, struct buffer *text)
{
	(void)context, (void)row, (void)text;
	return 0;
}

/* An answer about one event omits losses of other events, but includes losses without a name. */
static void test_lost(void)
{
	_cleanup_(tapes_store_done) struct tapes_store own;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct tape *tape = tapes_new(0, 10);
	const struct filter filter = { 0 };
	struct shown shown = { .json = false };
	const struct event_cursor_options options = {
		.question = { .window = { .from_ns = TAPES_REALTIME,
					  .to_ns = TAPES_REALTIME + 20 * NSEC_PER_SEC },
			      .filter = &filter },
		.names = { { "*mkdir" }, 1 },
		.make = make_none,
		.take = take,
		.context = &shown,
	};
	struct event_cursor_totals told;

	tapes_store_init(&own);
	add_passed_over(tape, "cgroup:cgroup_mkdir", 4);
	add_passed_over(tape, "cgroup:cgroup_rmdir", 3);
	CHECK_EQ(array_push(&tape->losses,
			    (struct tape_loss){ TAPE_LOSS_EVENTS, 0, TAPES_PERF + NSEC_PER_SEC,
						TAPES_PERF + 2 * NSEC_PER_SEC, 2 }),
		 0);
	tapes_store_put(&own, tape);
	CHECK_EQ(store_reader_open(own.path, &reader, NULL), 0);
	CHECK_EQ(event_cursor_run(reader, &options, &told, NULL), 0);
	CHECK_EQ(told.only_counted, 4);
	CHECK_EQ(told.lost, 2);
	CHECK_EQ(told.coverage.lost_events, 9);
	event_cursor_describe_overflow(&told, 1, true, &shown.text);
	buffer_u8(&shown.text, '\n');
	event_cursor_put_totals_json(&told, &shown.text);
	buffer_u8(&shown.text, 0);
	CHECK_STR((char *)shown.text.data,
		  "4 of cgroup:cgroup_mkdir, 2026-11-18T03:12:00.999Z to 2026-11-18T03:12:01.000Z\n"
		  "{\"events\":{\"shown\":1,\"lost\":2,\"passed_over\":4,\"of\":{\"cgroup:cgroup_"
		  "mkdir\":"
		  "{\"count\":4,\"from\":\"2026-11-18T03:12:00.999999Z\",\"to\":\"2026-11-18T03:12:"
		  "01.000000Z\"}}}}\n");
	event_cursor_totals_done(&told);
	buffer_done(&shown.text);
}

CHECK_MAIN({ "losses of one event", test_lost }, { "events as lines", test_lines },
	   { "hostile names do no harm", test_hostile_names }, { "events as JSON", test_json },
	   { "filters choose events", test_filters },
	   { "a count belongs to each window of its stretch", test_counted },
	   { "segments that overlap are merged", test_overlapping })
