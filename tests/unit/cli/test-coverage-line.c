// SPDX-License-Identifier: GPL-2.0-only
/*
 * The coverage line and the exit code of `perftape query`, run as a function on stores that the
 * test makes. Only the test moves the clock.
 */
#include "tests/check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>

#include "base/file.h"
#include "cli/options/command.h"
#include "cli/answer/screen.h"
#include "cli/options/time-zone.h"
#include "tests/fake-clock.h"
#include "tests/made-spools.h"

#define PERF(seconds) (TAPES_PERF + (uint64_t)((seconds)*1e9))

/* the main file of the command line defines these objects */
const struct option global_options[] = { { 0 } };
const struct command *const commands[] = { NULL };

static void give(struct invocation *invocation, const struct option *option, const char *value)
{
	invocation->given[invocation->given_count].option = option;
	invocation->given[invocation->given_count++].value = value;
}

/*
 * Runs a query of [from, to) seconds as folded stacks. Returns the exit code, and in *ret_said the
 * text on standard error.
 */
static int ask(const struct tapes_store *store, const char *from, const char *to, bool quiet,
	       char **ret_said)
{
	static const struct option where = { "store", 0, "DIR", "" },
				   silent = { "quiet", 0, NULL, "" }, utc = { "utc", 0, NULL, "" },
				   begin = { "from", 0, "TIME", "" }, end = { "to", 0, "TIME", "" },
				   format = { "format", 0, "NAME", "" },
				   output = { "output", 0, "FILE", "" };
	struct invocation invocation = { .command = &command_query };
	char said[128], answer[128];
	int code, kept = dup(STDERR_FILENO), fd;

	snprintf(said, sizeof(said), "%s/said", store->path);
	snprintf(answer, sizeof(answer), "%s/answer", store->path);
	fd = open(said, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && kept >= 0);
	give(&invocation, &where, store->path);
	give(&invocation, &utc, "");
	give(&invocation, &begin, from);
	give(&invocation, &end, to);
	give(&invocation, &format, "folded");
	give(&invocation, &output, answer);
	if (quiet)
		give(&invocation, &silent, "");
	dup2(fd, STDERR_FILENO);
	code = command_query.run(&invocation);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(fd);
	CHECK_EQ(file_read(said, 1 << 20, ret_said, NULL), 0);
	printf("# %d %.*s\n", code, (int)strcspn(*ret_said, "\n"), *ret_said);
	return code;
}

static struct tape *one_a_second(unsigned int begin, unsigned int end)
{
	struct tape *tape = tapes_new(begin, end);
	uint32_t thread = tapes_thread(tape, 1, 1, "x");

	for (unsigned int i = begin; i < end; i++)
		tapes_sample(tape, PERF(i), 0, thread, 0);
	return tape;
}

/* Truncates all segments of a store to nothing. */
static void damage_all(const struct tapes_store *store)
{
	char command[256];

	snprintf(command, sizeof(command), "truncate -s 100 '%s'/segments/*.tape", store->path);
	CHECK_EQ(system(command), 0);
}

static void test_whole(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *loud = NULL, *quiet = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, one_a_second(0, 10));
	CHECK_EQ(ask(&store, "@1794971520", "@1794971530", false, &loud), EXIT_DONE);
	CHECK(strstr(loud, "perftape: host example, 10 samples; covered 100 %"));
	CHECK_EQ(ask(&store, "@1794971520", "@1794971530", true, &quiet), EXIT_DONE);
	CHECK_STR(quiet, "");
}

/* Folded stacks have no place for gaps, so the coverage line appears with -q too. */
static void test_quiet(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *gap = NULL, *lost = NULL;
	struct tape *tape = one_a_second(0, 10);

	tapes_store_init(&store);
	CHECK_EQ(array_push(&tape->losses,
			    (struct tape_loss){ TAPE_LOSS_SAMPLES, 0, PERF(1), PERF(2), 5 }),
		 0);
	tapes_store_put(&store, tape);
	CHECK_EQ(ask(&store, "@1794971522", "@1794971542", true, &gap), EXIT_DONE);
	CHECK_STR(
		gap,
		"perftape: host example, 8 samples; covered 40.0 % (12 s not recorded), 0 samples "
		"lost, names: 0.0 %, times within 1 us\n");
	CHECK_EQ(ask(&store, "@1794971520", "@1794971525", true, &lost), EXIT_DONE);
	CHECK_STR(lost,
		  "perftape: host example, 5 samples; covered 100 %, 5 samples lost in part of the "
		  "window, names: 0.0 %, times within 1 us\n");
}

static void test_nothing_recorded(void)
{
	static const char expected[] =
		"perftape: host example: nothing is recorded in that window; "
		"the recording before it ends 2026-11-18T03:12:10Z\n";
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *outside = NULL, *between = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, one_a_second(0, 10));
	CHECK_EQ(ask(&store, "@1794971540", "@1794971550", true, &outside), EXIT_NOTHING);
	CHECK_STR(outside, expected);
	CHECK_EQ(ask(&store, "@1794971520.1", "@1794971520.2", true, &between), EXIT_NOTHING);
	CHECK_STR(between, "perftape: that window was recorded, but has no sample\n");
}

static void test_all_lost(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *said = NULL;
	struct tape *tape = one_a_second(0, 10);

	tapes_store_init(&store);
	CHECK_EQ(array_push(&tape->losses,
			    (struct tape_loss){ TAPE_LOSS_SAMPLES, 0, PERF(1), PERF(2), 5 }),
		 0);
	tapes_store_put(&store, tape);
	CHECK_EQ(ask(&store, "@1794971521.2", "@1794971521.5", true, &said), EXIT_NOTHING);
	CHECK_STR(said, "perftape: no such sample in that window: about 2 samples were lost\n");
}

static void test_all_damaged(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *quiet = NULL, *loud = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, one_a_second(0, 10));
	damage_all(&store);
	CHECK_EQ(ask(&store, "@1794971522", "@1794971525", true, &quiet), EXIT_FAILED);
	CHECK(!strncmp(quiet, "perftape: the recording of that window cannot be read: ", 55));
	CHECK(strstr(quiet, ".tape: the header is truncated; verify lists all damage\n"));
	CHECK(!strstr(quiet, "nothing is recorded"));
	CHECK_EQ(ask(&store, "@1794971522", "@1794971525", false, &loud), EXIT_FAILED);
	CHECK_STR(strchr(loud, '\n') + 1, quiet);
}

/* Returns the output of the list of segments; the caller frees it. */
static char *list(const struct tapes_store *store)
{
	static const struct option where = { "store", 0, "DIR", "" },
				   silent = { "quiet", 0, NULL, "" }, utc = { "utc", 0, NULL, "" };
	struct invocation invocation = { .command = &command_segments };
	int kept = dup(STDOUT_FILENO), fd, code;
	char path[128], *listed;

	give(&invocation, &where, store->path);
	give(&invocation, &silent, "");
	give(&invocation, &utc, "");
	snprintf(path, sizeof(path), "%s/listed", store->path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && kept >= 0);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	code = command_segments.run(&invocation);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(fd);
	CHECK_EQ(code, EXIT_DONE);
	CHECK_EQ(file_read(path, 1 << 20, &listed, NULL), 0);
	return listed;
}

static void test_list_of_damaged(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_free_ char *listed = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, one_a_second(0, 10));
	damage_all(&store);
	listed = list(&store);
	CHECK(strstr(listed, ".tape  unreadable: the header is truncated\n"));
}

/*
 * A running recording is listed and answers queries, but the store does not contain its last second
 * yet.
 */
static void test_while_recording(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling spooling = { 0 };
	_cleanup_free_ char *within = NULL, *beyond = NULL, *listed = NULL;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	spooling_init(&spooling, store_writer_number(writer), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(spooling_put(&spooling, writer), 0);
	CHECK_EQ(ask(&store, "@1794971521", "@1794971523", false, &within), EXIT_DONE);
	CHECK(strstr(within, "perftape: host example, 8 samples; covered 100 %, 0 samples lost, "));
	CHECK(!strstr(within, "is recording"));
	CHECK_EQ(ask(&store, "@1794971521", "@1794971525", false, &beyond), EXIT_DONE);
	CHECK(strstr(beyond,
		     "perftape: host example, 8 samples; covered 50.0 % (2 s not recorded), "));
	CHECK(strstr(beyond, " is recording; its samples can be read a second later\n"));
	listed = list(&store);
	CHECK(strstr(listed, "2026-11-18T03:12:00.000Z"));
	CHECK(strstr(listed, "  not sealed yet\n"));
}

/*
 * The time after the end of the spool is a gap only if it lies before the start of this recorder.
 */
static void test_not_written_yet(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling before = { 0 }, now = { 0 };
	_cleanup_free_ char *left = NULL, *live = NULL;
	uint64_t second = clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC + 1;
	char from[32], to[32];

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	spooling_init(&before, store_writer_number(writer), 0);
	before.tape->anchors.items[0].realtime_ns = (second - 3600) * NSEC_PER_SEC;
	CHECK_EQ(spooling_put(&before, writer), 0);
	snprintf(from, sizeof(from), "@%" PRIu64, second - 3600);
	snprintf(to, sizeof(to), "@%" PRIu64, second - 3590);
	CHECK_EQ(ask(&store, from, to, false, &left), EXIT_DONE);
	CHECK(strstr(left, ": nothing recorded\n"));
	CHECK(!strstr(left, "not written yet"));

	spooling_init(&now, store_writer_number(writer), 0);
	now.tape->anchors.items[0].realtime_ns = second * NSEC_PER_SEC;
	CHECK_EQ(spooling_put(&now, writer), 0);
	snprintf(from, sizeof(from), "@%" PRIu64, second);
	snprintf(to, sizeof(to), "@%" PRIu64, second + 2);
	CHECK_EQ(ask(&store, from, to, false, &live), EXIT_DONE);
	CHECK(strstr(live, "covered 50.0 % (1 s not recorded)"));
	CHECK(strstr(live, ": not written yet\n"));
	CHECK(!strstr(live, "nothing recorded"));
}

/*
 * A snapshot contains the losses that a later segment reports, so it gives the same answer as the
 * store.
 */
static void test_snapshot_of_losses(void)
{
	static const struct option where = { "store", 0, "DIR", "" },
				   begin = { "from", 0, "TIME", "" }, end = { "to", 0, "TIME", "" },
				   silent = { "quiet", 0, NULL, "" },
				   output = { "output", 0, "FILE", "" };
	struct invocation invocation = { .command = &command_snapshot };
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct store_segments segments = { 0 };
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct tape *behind = one_a_second(10, 20);
	char file[128];

	tapes_store_init(&store);
	tapes_store_put(&store, one_a_second(0, 10));
	CHECK_EQ(array_push(&behind->losses,
			    (struct tape_loss){ TAPE_LOSS_SAMPLES, 0, PERF(9), PERF(11), 5 }),
		 0);
	tapes_store_put(&store, behind);
	snprintf(file, sizeof(file), "%s/part.tape", store.path);
	give(&invocation, &where, store.path);
	give(&invocation, &begin, "@1794971520");
	give(&invocation, &end, "@1794971530");
	give(&invocation, &output, file);
	give(&invocation, &silent, "");
	CHECK_EQ(command_snapshot.run(&invocation), EXIT_DONE);
	CHECK_EQ(store_reader_open(file, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	CHECK_EQ(segments.list.count, 1);
	CHECK_EQ(segments.list.items[0].samples, 10);
	CHECK_EQ(segments.list.items[0].lost, 5);
	array_done(&segments.list);
}

/* The test runs in a container that has a few of many CPUs. */
static void test_threads(void)
{
	cpu_set_t before, one;
	int cpu = 0;

	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK_EQ(screen_threads(), MIN(CPU_COUNT(&before), 16));
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	CHECK_EQ(screen_threads(), 1);
	CHECK_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void test_time_zones(void)
{
	static const char *const known[] = {
		"",	   "UTC",	   ":UTC", "Etc/UTC", "CET-1CEST,M3.5.0,M10.5.0/3",
		"EST5EDT", "<+0330>-3:30", "AAA0"
	};
	static const char *const unknown[] = { "Nowhere/Land",
					       "Europe/",
					       "../../etc/passwd",
					       "/etc/passwd",
					       "/nonexistent",
					       "+1",
					       "5",
					       "<+03",
					       "B1",
					       "Berlin" };

	CHECK(time_zone_is_known(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!time_zone_is_known(known[i]))
			CHECK_FAIL("\"%s\" is a time zone", known[i]);
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		if (time_zone_is_known(unknown[i]))
			CHECK_FAIL("\"%s\" is no time zone", unknown[i]);
}

CHECK_MAIN({ "a snapshot has the losses that a later segment reports", test_snapshot_of_losses },
	   { "a covered window says so", test_whole },
	   { "gaps are reported with -q too", test_quiet },
	   { "a window without recordings is reported", test_nothing_recorded },
	   { "a window whose samples are all lost is reported", test_all_lost },
	   { "a window whose segments are all damaged is reported", test_all_damaged },
	   { "the list shows a damaged segment", test_list_of_damaged },
	   { "a running recording is listed and answers", test_while_recording },
	   { "the last seconds are not written yet", test_not_written_yet },
	   { "times are shown in the chosen zone", test_time_zones },
	   { "threads match the CPUs that we may use", test_threads })
