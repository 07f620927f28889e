// SPDX-License-Identifier: GPL-2.0-only
/* A picture has one mark for each episode of incidents. */
#include "tests/check.h"

#include "cli/options/command.h"
#include "cli/answer/incident-marks.h"
#include "tests/tapes.h"

/* the main file of the command line defines these objects */
const struct option global_options[] = { { 0 } };
const struct command *const commands[] = { NULL };

static void add_line(struct tape *tape, unsigned int ms, const char *kind, unsigned int severity,
		     const char *text)
{
	uint64_t ns = tape->begin_ns + ms * NSEC_PER_MSEC;

	CHECK_EQ(array_push(&tape->incidents,
			    (struct tape_incident){
				    .time_ns = ns,
				    .stall_ns = ns,
				    .kind = tapes_string(tape, kind),
				    .severity = severity,
				    .text = tapes_string(tape, text),
				    .source = tapes_string(tape, "kmsg"),
			    }),
		 0);
}

/* Two out-of-memory kills, a minute apart, and another incident between them. */
static void put_store(struct tapes_store *store)
{
	struct tape *tape = tapes_new(0, 120);

	tapes_store_init(store);
	add_line(tape, 10000, "oom.invoked", 3, "java invoked oom-killer");
	add_line(tape, 10020, "oom.kill", 3, "Out of memory: Killed process 7 (java)");
	add_line(tape, 10500, "oom.reaped", 1, "oom_reaper: reaped process 7 (java)");
	add_line(tape, 11000, "cpu.throttled", 2, "Core temperature above threshold");
	add_line(tape, 70000, "oom.kill", 3,
		 "Memory cgroup out of memory: Killed process 8 (java)");
	tapes_store_put(store, tape);
}

static void check(const struct tapes_store *store, unsigned int from, unsigned int to,
		  const char *expected)
{
	const struct window window = { .from_ns = TAPES_REALTIME + from * NSEC_PER_MSEC,
				       .to_ns = TAPES_REALTIME + to * NSEC_PER_MSEC };
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(buffer_done) struct buffer text = { 0 };
	struct incident_marks marks;
	struct book book;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(book_open(reader, &book, NULL), 0);
	CHECK_EQ(incident_marks_make(&book, &window, &marks), 0);
	for (size_t i = 0; i < marks.list.count; i++)
		buffer_printf(&text, "%llu %s\n",
			      (unsigned long long)((marks.list.items[i].time_ns - TAPES_REALTIME) /
						   NSEC_PER_MSEC),
			      marks.list.items[i].what);
	buffer_u8(&text, 0);
	CHECK_STR((char *)text.data, expected);
	incident_marks_done(&marks);
	book_done(&book);
}

static void test_episodes(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;

	put_store(&store);
	check(&store, 0, 120000,
	      "10000 oom.kill  3 lines in 500 ms: Out of memory: Killed process 7 (java)\n"
	      "11000 cpu.throttled  Core temperature above threshold\n"
	      "70000 oom.kill  Memory cgroup out of memory: Killed process 8 (java)\n");
	/* the mark of an episode that starts before the window is inside the window */
	check(&store, 10010, 10030, "10020 oom.kill  Out of memory: Killed process 7 (java)\n");
	check(&store, 10100, 11000, "10500 oom.reaped  oom_reaper: reaped process 7 (java)\n");
	check(&store, 20000, 70000, "");
}

/* A stall is marked from its begin, also if only a part of it lies in the window. */
static void test_stall(void)
{
	struct tape *tape = tapes_new(0, 120);
	_cleanup_(tapes_store_done) struct tapes_store store;

	tapes_store_init(&store);
	add_line(tape, 10000, "ena.tx_stall", 3, "TX q 5 is paused for too long");
	tape->incidents.items[0].stall_ns = tape->begin_ns + 4000 * NSEC_PER_MSEC;
	tapes_store_put(&store, tape);
	check(&store, 0, 120000, "10000 ena.tx_stall  6 s stall: TX q 5 is paused for too long\n");
	check(&store, 0, 9000, "10000 ena.tx_stall  6 s stall: TX q 5 is paused for too long\n");
	check(&store, 0, 4000, "");
	check(&store, 10001, 12000, "");
}

static void test_json(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(buffer_done) struct buffer json = { 0 };
	const struct window all = { .to_ns = UINT64_MAX };
	struct incident_marks marks;
	struct book book;

	put_store(&store);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	CHECK_EQ(book_open(reader, &book, NULL), 0);
	CHECK_EQ(incident_marks_make(&book, &all, &marks), 0);
	marks.list.count = 1;
	incident_marks_put_json(&marks, &json);
	marks.list.count = 3;
	buffer_u8(&json, 0);
	CHECK_STR((char *)json.data,
		  "{\"time\":\"2026-11-18T03:12:10.000000Z\",\"incident\":\"oom."
		  "kill  3 lines in 500 ms: "
		  "Out of memory: Killed process 7 "
		  "(java)\",\"stall_start\":null,\"until\":\"2026-11-18T03:12:10.500000Z\","
		  "\"lines\":3}\n");
	incident_marks_done(&marks);
	book_done(&book);
}

CHECK_MAIN({ "an episode is one mark", test_episodes }, { "a stall", test_stall },
	   { "marks as JSON", test_json })
