// SPDX-License-Identifier: GPL-2.0-only
/* A store that cannot be written is played by a file in the place of its folder of segments. */
#include "tests/check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/run/shutdown.h"
#include "recorder/sink/unsaved.h"
#include "recorder/sink/sealer.h"
#include "store/disk/files.h"
#include "tests/made-spools.h"

#define TAPES 8
#define SAMPLES 2000
#define MEMORY (3 * 100000)

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

static void let_write(const struct tapes_store *store, bool may)
{
	char there[128], away[128];

	snprintf(there, sizeof(there), "%s/segments", store->path);
	snprintf(away, sizeof(away), "%s/away", store->path);
	if (!may)
		CHECK_EQ(file_replace(store->path, "away", "", 0), 0);
	CHECK_EQ(renameat2(AT_FDCWD, there, AT_FDCWD, away, RENAME_EXCHANGE), 0);
	if (may)
		unlink(away);
}

static struct tape *make_tape(struct sealer *sealer, unsigned int begin, uint64_t samples)
{
	struct tape *tape = tapes_new(begin, begin + 1);
	uint32_t thread = tapes_thread(tape, 1, 1, "x"), stack = tapes_kernel(tape, "a;b;c");

	for (uint64_t i = 0; i < samples; i++)
		tapes_sample(tape, tape->begin_ns + i * 1000, 0, thread, stack);
	tape->sequence = sealer_number(sealer);
	return tape;
}

/* Waits until the sealer has seen that the store cannot be written. */
static void wait_for_stall(struct sealer *sealer)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	struct sealer_status status = { 0 };

	for (int i = 0; i < 1000 && !status.store_blocked; i++) {
		nanosleep(&pause, NULL);
		sealer_status(sealer, &status);
	}
	CHECK(status.store_blocked);
}

struct found {
	size_t segments;
	uint64_t samples;
	uint64_t unsaved;
	size_t shed_rows;
	struct tape_loss last_shed;
};

static struct found look(const struct tapes_store *store)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	struct found found = { 0 };

	if (store_reader_open(store->path, &reader, &error) < 0 ||
	    store_reader_find(reader, 0, UINT64_MAX, &segments, &error) < 0)
		CHECK_FAIL("%s", error.text);
	found.segments = segments.list.count;
	for (size_t i = 0; i < segments.list.count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;

		if (store_reader_load(reader, &segments.list.items[i], &everything, &tape, &error) <
		    0)
			CHECK_FAIL("%s", error.text);
		found.samples += tape->samples.count;
		for (size_t k = 0; k < tape->losses.count; k++)
			if (tape->losses.items[k].kind == TAPE_LOSS_UNSAVED) {
				found.unsaved += tape->losses.items[k].count;
				found.shed_rows++;
				found.last_shed = tape->losses.items[k];
			}
	}
	array_done(&segments.list);
	return found;
}

/* Puts tapes while the store cannot be written, and ends when it can again, or not even then. */
static struct sealer_status run(const struct tapes_store *store, uint64_t memory_bytes,
				bool can_again)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct sealer_options options = { .memory_bytes = memory_bytes };
	struct sealer_status status;
	struct error error = { 0 };
	struct sealer *sealer;

	if (store_writer_open(store->path, &writer, &error) < 0 ||
	    sealer_start(writer, &options, &sealer, &error) < 0)
		CHECK_FAIL("%s", error.text);
	let_write(store, false);
	for (unsigned int i = 0; i < TAPES; i++)
		CHECK_EQ(sealer_put(sealer, make_tape(sealer, i, SAMPLES)), 0);
	wait_for_stall(sealer);
	if (can_again)
		let_write(store, true);
	sealer_stop(sealer, &status);
	if (!can_again)
		let_write(store, true);
	return status;
}

static void test_waits(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct sealer_status status;
	struct found found;

	tapes_store_init(&store);
	status = run(&store, 0, true);
	found = look(&store);
	CHECK_EQ(status.unsaved_samples, 0);
	CHECK_EQ(found.segments, TAPES);
	CHECK_EQ(found.samples, TAPES * SAMPLES);
	CHECK_EQ(found.shed_rows, 0);
}

/* What was left cannot be sealed at the start, the disk being full: it is as soon as a segment can
 * be. */
static void test_leftovers(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling spooling;
	struct sealer_options options = { .boot_id = "of another boot" };
	struct sealer_status status;
	struct sealer *sealer;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	spooling_init(&spooling, store_writer_number(writer), 10);
	CHECK_EQ(spooling_put(&spooling, writer), 0);
	writer = store_writer_close(writer);

	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	let_write(&store, false);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	CHECK_EQ(sealer_put(sealer, make_tape(sealer, 0, SAMPLES)), 0);
	wait_for_stall(sealer);
	sealer_status(sealer, &status);
	CHECK_EQ(status.recovered.tapes, 0);
	let_write(&store, true);
	sealer_stop(sealer, &status);
	CHECK_EQ(status.recovered.tapes, 1);
	CHECK_EQ(status.recovered.samples, 4);
	CHECK_EQ(look(&store).segments, 2);
	CHECK_EQ(look(&store).samples, SAMPLES + 4);
}

/* How the recording ended that the store's segment of that number is of. */
static void check_ended(const struct tapes_store *store, uint64_t sequence, const char *ended)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	bool found = false;

	CHECK_EQ(store_reader_open(store->path, &reader, NULL), 0);
	CHECK_EQ(store_reader_find(reader, 0, UINT64_MAX, &segments, NULL), 0);
	for (size_t i = 0; i < segments.list.count; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;

		if (segments.list.items[i].sequence != sequence)
			continue;
		CHECK_EQ(store_reader_load(reader, &segments.list.items[i], &everything, &tape,
					   NULL),
			 0);
		CHECK_STR(tape_fact(tape, TAPE_ENDED), ended);
		found = true;
	}
	array_done(&segments.list);
	CHECK(found);
}

/* The last words of who could not store all tell how what it left ended, also when that is
 * recovered behind a segment of ours. */
static void test_leftovers_and_last_words(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling spooling;
	struct sealer_options options = { .boot_id = "of another boot" };
	struct store_unsaved left = { .ended = "SIGINT",
				      .from_ns = TAPES_REALTIME,
				      .to_ns = TAPES_REALTIME + 1,
				      .perf_from_ns = TAPES_PERF,
				      .perf_to_ns = TAPES_PERF + 1,
				      .samples = 400 };
	struct sealer_status status;
	struct sealer *sealer;
	uint64_t number;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	number = store_writer_number(writer);
	spooling_init(&spooling, number, 10);
	CHECK_EQ(spooling_put(&spooling, writer), 0);
	CHECK_EQ(store_writer_leave(writer, &left), 0);
	writer = store_writer_close(writer);

	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	options.unsaved = (struct tape_loss){ TAPE_LOSS_UNSAVED, TAPE_ALL_CPUS, left.perf_from_ns,
					      left.perf_to_ns, left.samples };
	let_write(&store, false);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	CHECK_EQ(sealer_put(sealer, make_tape(sealer, 0, SAMPLES)), 0);
	wait_for_stall(sealer);
	/* as one that ends before it can write */
	CHECK_EQ(store_writer_leave(writer, &left), 0);
	CHECK_EQ(left.first, number);
	CHECK_EQ(sealer_put(sealer, make_tape(sealer, 1, SAMPLES)), 0);
	let_write(&store, true);
	sealer_stop(sealer, &status);
	CHECK_EQ(status.recovered.tapes, 1);
	check_ended(&store, number, "SIGINT");
	CHECK_EQ(look(&store).unsaved, 400);
	CHECK_EQ(status.unsaved.count, 0);
	CHECK_EQ(store_writer_left(writer, &left), 0);
}

/* Who fails before it began knows no time, and leaves what was said before. */
static void test_words_of_none(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	const struct tape_loss none = { 0 },
			       unsaved = { TAPE_LOSS_UNSAVED, TAPE_ALL_CPUS, 1, 2, 400 };
	struct store_unsaved left;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	unsaved_leave(&none, TAPES_REALTIME, TAPES_REALTIME + 1, "failure", writer);
	unsaved_leave(&unsaved, 0, 0, "failure", writer);
	CHECK_EQ(store_writer_left(writer, &left), 0);
}

/* Not more than the bound waits, and one of the segments tells of all the rest, once. */
static void test_sheds(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct sealer_status status;
	struct found found;

	tapes_store_init(&store);
	status = run(&store, MEMORY, true);
	found = look(&store);
	CHECK(status.unsaved_samples >= (TAPES / 2) * SAMPLES);
	CHECK(found.segments >= 2);
	CHECK_EQ(found.samples + found.unsaved, TAPES * SAMPLES);
	CHECK_EQ(found.unsaved, status.unsaved_samples);
	CHECK_EQ(found.shed_rows, 1);
	CHECK_EQ(status.failed, 0);
}

/* While the first one is at work others are unsaved, and then itself: what tells of them covers
 * them all. */
static void test_sheds_the_one_at_work(void)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct sealer_options options = { .memory_bytes = MEMORY };
	struct sealer_status status;
	struct sealer *sealer;
	struct found found;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	let_write(&store, false);
	CHECK_EQ(sealer_put(sealer, make_tape(sealer, 0, 200 * SAMPLES)), 0);
	nanosleep(&pause, NULL);
	for (unsigned int i = 1; i < 4; i++)
		CHECK_EQ(sealer_put(sealer, make_tape(sealer, i, SAMPLES)), 0);
	wait_for_stall(sealer);
	CHECK_EQ(sealer_put(sealer, make_tape(sealer, 4, SAMPLES)), 0);
	let_write(&store, true);
	sealer_stop(sealer, &status);
	found = look(&store);
	CHECK(status.unsaved_samples >= 200 * SAMPLES);
	CHECK_EQ(found.samples + found.unsaved, (200 + 4) * SAMPLES);
	CHECK_EQ(found.shed_rows, 1);
	CHECK_EQ(found.last_shed.from_ns, TAPES_PERF);
	CHECK(found.last_shed.to_ns >= TAPES_PERF + NSEC_PER_SEC);
}

/* At the end all that cannot be written is given up, which is a failure. */
static void test_gives_up(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct sealer_status status;

	tapes_store_init(&store);
	status = run(&store, 0, false);
	CHECK(status.failed < 0);
	CHECK(*status.error.text);
	CHECK_EQ(status.unsaved_samples, TAPES * SAMPLES);
	/* no spool has any of it */
	CHECK_EQ(status.unsaved.count, TAPES * SAMPLES);
	CHECK_EQ(status.unsaved.kind, TAPE_LOSS_UNSAVED);
	CHECK(status.unsaved.from_ns < status.unsaved.to_ns);
	CHECK_EQ(look(&store).segments, 0);
}

/* Who opens a FIFO to write waits for a reader: a sealing that takes as long as we like. */
static void make_fifo(const struct tapes_store *store, const struct tape *tape, char path[256])
{
	char name[64];

	CHECK_EQ(store_name(tape_fact(tape, "boot_id"), tape->sequence, STORE_SUFFIX, name), 0);
	snprintf(path, 256, "%s/segments/.%s.new", store->path, name);
	CHECK_EQ(mkfifo(path, 0600), 0);
}

static void put_second(struct sealer *sealer, struct spooling *spooling)
{
	_cleanup_(buffer_done) struct buffer unused = { 0 };

	spooling_second(spooling, &unused);
	CHECK(sealer_takes_block(sealer));
	CHECK_EQ(sealer_put_block(sealer, &spooling->block), 0);
}

static void wait_for_spool(struct sealer *sealer, uint64_t until_ns)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct sealer_status status = { 0 };

	for (int i = 0; i < 20000 && status.spooled_ns < until_ns; i++) {
		nanosleep(&pause, NULL);
		sealer_status(sealer, &status);
	}
	CHECK_EQ(status.spooled_ns, until_ns);
	CHECK_EQ(status.segments, 0);
	CHECK(!status.store_blocked);
}

/* A block of a tape that is sealed comes too late, whichever thread is faster: nothing is left in
 * the spool. */
static void test_spools_meanwhile(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling spooling;
	_cleanup_close_ int reader = -1;
	struct sealer_options options = { .memory_bytes = 0 };
	struct sealer_status status;
	struct sealer *sealer;
	struct tape *tape;
	char fifo[256];

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	tape = make_tape(sealer, 0, 10);
	make_fifo(&store, tape, fifo);
	CHECK_EQ(sealer_put(sealer, tape), 0);
	spooling_init(&spooling, sealer_number(sealer), 1);
	for (int i = 0; i < 3; i++) {
		put_second(sealer, &spooling);
		wait_for_spool(sealer, spooling.tape->end_ns);
	}
	reader = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK(reader >= 0);
	wait_for_stall(sealer); /* what was written into the FIFO cannot be synced */
	put_second(sealer, &spooling);
	CHECK_EQ(sealer_put(sealer, take_ptr(spooling.tape)), 0);
	sealer_stop(sealer, &status);
	CHECK_EQ(status.unsaved_samples, 0);
	CHECK_EQ(status.segments, 2);
	CHECK_EQ(look(&store).segments, 2);
	CHECK_EQ(look(&store).samples, 10 + 4 * 4);
}

static void count_call(void *context)
{
	(*(int *)context)++;
}

/* A store that hangs is waited for as long as it is allowed, or until it is asked for twice; then
 * it goes on where it was. */
static void test_hangs(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_close_ int reader = -1;
	struct sealer_options options = { .memory_bytes = 0 };
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), patience_ns = 1500 * NSEC_PER_MSEC;
	volatile int stop = 1;
	struct sealer *sealer;
	struct tape *tape;
	char fifo[256];
	int told = 0;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	tape = make_tape(sealer, 0, 10);
	make_fifo(&store, tape, fifo);
	CHECK_EQ(sealer_put(sealer, tape), 0);
	CHECK(!shutdown_wait(sealer, patience_ns, &stop, count_call, &told));
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin_ns >= patience_ns);
	CHECK(told >= 1);
	stop = 2;
	CHECK(!shutdown_wait(sealer, UINT64_MAX, &stop, NULL, NULL));
	reader = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK(reader >= 0);
	stop = 1;
	/* what was written into the FIFO cannot be synced, and there is no other time */
	CHECK(shutdown_wait(sealer, 60 * NSEC_PER_SEC, &stop, NULL, NULL));
	sealer_stop(sealer, NULL);
}

#define STOPPED_NS NSEC_PER_SEC

/* A child stops this process, and lets it go on later. */
static void stop_once(void *context)
{
	pid_t *child = context, parent = getpid();

	if (*child)
		return;
	*child = fork();
	if (*child)
		return;
	kill(parent, SIGSTOP);
	usleep(STOPPED_NS / NSEC_PER_USEC);
	kill(parent, SIGCONT);
	_exit(0);
}

/* The store cannot come further while this process does not run, so that time does not count. */
static void test_stopped_while_it_waits(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_close_ int reader = -1;
	struct sealer_options options = { .memory_bytes = 0 };
	uint64_t patience_ns = 500 * NSEC_PER_MSEC, begin_ns;
	volatile int stop = 1;
	struct sealer *sealer;
	struct tape *tape;
	pid_t child = 0;
	char fifo[256];

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	tape = make_tape(sealer, 0, 10);
	make_fifo(&store, tape, fifo);
	CHECK_EQ(sealer_put(sealer, tape), 0);
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	CHECK(!shutdown_wait(sealer, patience_ns, &stop, stop_once, &child));
	/* the stop used up a part of the patience, but not all of it */
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin_ns >= STOPPED_NS + patience_ns / 2);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	reader = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK(reader >= 0);
	sealer_stop(sealer, NULL);
}

/* Said before the first tape comes, and not again behind it, when the figures in the text are
 * others. */
static void test_space(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct store_limits limits = { .max_age_ns = UINT64_MAX,
				       .max_bytes = UINT64_MAX,
				       .keep_free_bytes = UINT64_MAX };
	struct sealer_options options = { .limits = &limits };
	struct store_retained retained;
	struct sealer_status before = { 0 }, status;
	struct sealer *sealer;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(store_writer_retain(writer, &limits, true, NULL, NULL, &retained, NULL), 0);
	limits.keep_free_bytes = retained.disk_bytes - 1;
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	for (int i = 0; i < 1000 && !*before.warning.text; i++) {
		usleep(10000);
		sealer_status(sealer, &before);
	}
	CHECK(strstr(before.warning.text, "the store is kept from growing"));
	for (unsigned int i = 0; i < TAPES; i++)
		CHECK_EQ(sealer_put(sealer, make_tape(sealer, i, SAMPLES)), 0);
	sealer_stop(sealer, &status);
	CHECK_STR(status.warning.text, before.warning.text);
}

CHECK_MAIN({ "tapes wait for the store", test_waits },
	   { "beyond the bound the oldest is unsaved, and told of", test_sheds },
	   { "what was left is tried again", test_leftovers },
	   { "and its last words are heard then", test_leftovers_and_last_words },
	   { "who did not begin has no last words", test_words_of_none },
	   { "while a segment is made the spool goes on", test_spools_meanwhile },
	   { "one that was at work is unsaved behind others", test_sheds_the_one_at_work },
	   { "a store that hangs at the end", test_hangs },
	   { "a stop of the process is no fault of the store", test_stopped_while_it_waits },
	   { "too little free space is told of once", test_space },
	   { "what cannot be written at the end is given up", test_gives_up })
