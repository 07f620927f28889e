// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file in place of the segments' folder stands for a store that cannot be written. Only the test
 * moves the clock, so the sealer tries again only when the test stops the sealer.
 */
#include "tests/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/run/shutdown.h"
#include "recorder/sink/unsaved.h"
#include "recorder/sink/sealer.h"
#include "store/disk/files.h"
#define FAKE_CLOCK_WAITS
#include "tests/fake-clock.h"
#include "tests/made-spools.h"
#include "tests/sealers.h"
#include "tests/wait.h"

#define TAPES 8

int __real_nanosleep(const struct timespec *pause, struct timespec *ret_left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *ret_left);

/* A pause moves the clock instead of waiting. */
static _Atomic bool pauses_pass;

int __wrap_nanosleep(const struct timespec *pause, struct timespec *ret_left)
{
	if (!pauses_pass)
		return __real_nanosleep(pause, ret_left);
	fake_clock_pass(pause->tv_sec * NSEC_PER_SEC + pause->tv_nsec);
	return 0;
}

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

static void wait_for_stall(struct sealer *sealer)
{
	WAIT_UNTIL(status_of(sealer).store_blocked);
}

/*
 * Puts tapes while the store cannot be written. With `can_again`, the store can be written again
 * before the sealer stops.
 */
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
	CHECK_EQ(found.unsaved_rows, 0);
}

/*
 * With a full disk, the sealer cannot seal a leftover spool at the start. It seals the spool after
 * the first segment.
 */
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

/* Checks the reason for the end of the recording to which the segment with this number belongs. */
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

/*
 * The note of a recorder that could not store everything says how its leftover tape ended. The note
 * also holds if the store recovers that tape after a segment of the new recorder.
 */
static void test_leftovers_with_note(void)
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
	CHECK_EQ(store_writer_note_unsaved(writer, &left), 0);
	writer = store_writer_close(writer);

	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	options.unsaved = (struct tape_loss){ TAPE_LOSS_UNSAVED, TAPE_ALL_CPUS, left.perf_from_ns,
					      left.perf_to_ns, left.samples };
	let_write(&store, false);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	CHECK_EQ(sealer_put(sealer, make_tape(sealer, 0, SAMPLES)), 0);
	wait_for_stall(sealer);
	/* the note of a recorder that ends before it can write */
	CHECK_EQ(store_writer_note_unsaved(writer, &left), 0);
	CHECK_EQ(left.first, number);
	CHECK_EQ(sealer_put(sealer, make_tape(sealer, 1, SAMPLES)), 0);
	let_write(&store, true);
	sealer_stop(sealer, &status);
	CHECK_EQ(status.recovered.tapes, 1);
	check_ended(&store, number, "SIGINT");
	CHECK_EQ(look(&store).unsaved, 400);
	CHECK_EQ(status.unsaved.count, 0);
	CHECK_EQ(store_writer_unsaved(writer, &left), 0);
}

/* A recorder that fails before it has begun lacks a time, and leaves an earlier note as it is. */
static void test_no_note(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	const struct tape_loss none = { 0 },
			       unsaved = { TAPE_LOSS_UNSAVED, TAPE_ALL_CPUS, 1, 2, 400 };
	struct store_unsaved left;

	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	unsaved_write_note(&none, TAPES_REALTIME, TAPES_REALTIME + 1, "failure", writer);
	unsaved_write_note(&unsaved, 0, 0, "failure", writer);
	CHECK_EQ(store_writer_unsaved(writer, &left), 0);
}

/* At most `memory_bytes` of tapes wait. One segment reports all other tapes as unsaved, once. */
static void test_drops_the_oldest(void)
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
	CHECK_EQ(found.unsaved_rows, 1);
	CHECK_EQ(status.failed, 0);
}

/*
 * While the sealer works on a tape, a later tape is dropped, and then the first tape too. The loss
 * covers both.
 */
static void test_drops_the_one_at_work(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct gate gate;
	struct sealer_options options = {
		.memory_bytes = MEMORY,
		.finder = { .live = true, .delegate = wait_at_gate, .context = &gate }
	};
	struct sealer_status status;
	struct sealer *sealer;
	struct found found;

	CHECK_EQ(sem_init(&gate.reached, 0, 0), 0);
	CHECK_EQ(sem_init(&gate.opened, 0, 0), 0);
	tapes_store_init(&store);
	CHECK_EQ(store_writer_open(store.path, &writer, NULL), 0);
	CHECK_EQ(sealer_start(writer, &options, &sealer, NULL), 0);
	let_write(&store, false);
	CHECK_EQ(sealer_put(sealer, make_tape_of_program(sealer, 20 * SAMPLES)), 0);
	CHECK_EQ(sem_wait(&gate.reached), 0);
	for (unsigned int i = 1; i < 4; i++)
		CHECK_EQ(sealer_put(sealer, make_tape(sealer, i, SAMPLES)), 0);
	CHECK_EQ(status_of(sealer).unsaved_samples, 2 * SAMPLES);
	CHECK_EQ(sem_post(&gate.opened), 0);
	wait_for_stall(sealer);
	CHECK_EQ(sealer_put(sealer, make_tape(sealer, 4, SAMPLES)), 0);
	CHECK_EQ(status_of(sealer).unsaved_samples, (20 + 2) * SAMPLES);
	let_write(&store, true);
	sealer_stop(sealer, &status);
	found = look(&store);
	CHECK_EQ(status.unsaved_samples, (20 + 2) * SAMPLES);
	CHECK_EQ(found.samples, 2 * SAMPLES);
	CHECK_EQ(found.unsaved, (20 + 2) * SAMPLES);
	CHECK_EQ(found.unsaved_rows, 1);
	CHECK_EQ(found.last_unsaved.from_ns, TAPES_PERF);
	CHECK(found.last_unsaved.to_ns >= TAPES_PERF + 3 * NSEC_PER_SEC);
}

/* Tapes that cannot be written before the end are unsaved, which is an error. */
static void test_ends_unwritten(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct sealer_status status;

	tapes_store_init(&store);
	status = run(&store, 0, false);
	CHECK(status.failed < 0);
	CHECK(*status.error.text);
	CHECK_EQ(status.unsaved_samples, TAPES * SAMPLES);
	/* the spool does not contain these samples */
	CHECK_EQ(status.unsaved.count, TAPES * SAMPLES);
	CHECK_EQ(status.unsaved.kind, TAPE_LOSS_UNSAVED);
	CHECK(status.unsaved.from_ns < status.unsaved.to_ns);
	CHECK_EQ(look(&store).segments, 0);
}

/*
 * The writer removes what has the name of its new file. If that is a FIFO, this function takes the
 * place of unlinkat() and hangs until the test opens the FIFO, as a call on a dead disk hangs. It
 * leaves a folder, so that the write fails once; the next try removes the folder.
 */
int unlinkat(int folder, const char *name, int flags)
{
	struct stat about = { 0 };

	fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW);
	if (S_ISFIFO(about.st_mode)) {
		close(openat(folder, name, O_WRONLY | O_CLOEXEC));
		syscall(SYS_unlinkat, folder, name, 0);
		return mkdirat(folder, name, 0700);
	}
	return syscall(SYS_unlinkat, folder, name, S_ISDIR(about.st_mode) ? AT_REMOVEDIR : flags);
}

/* The sealing hangs at this FIFO for as long as the test wants. */
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
	CHECK(sealer_has_room(sealer));
	CHECK_EQ(sealer_put_block(sealer, &spooling->block), 0);
}

static void wait_for_spool(struct sealer *sealer, uint64_t until_ns)
{
	struct sealer_status status;

	WAIT_UNTIL(status_of(sealer).spooled_ns >= until_ns);
	status = status_of(sealer);
	CHECK_EQ(status.spooled_ns, until_ns);
	CHECK_EQ(status.segments, 0);
	CHECK(!status.store_blocked);
}

/*
 * If the sealer seals a tape meanwhile, it drops the tape's later blocks, so the spool stays empty,
 * whichever thread is faster.
 */
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
	spooling_init(&spooling, sealer_next_number(sealer), 1);
	for (int i = 0; i < 3; i++) {
		put_second(sealer, &spooling);
		wait_for_spool(sealer, spooling.tape->end_ns);
	}
	reader = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK(reader >= 0);
	wait_for_stall(sealer); /* a folder cannot be written */
	put_second(sealer, &spooling);
	CHECK_EQ(sealer_put(sealer, take_ptr(spooling.tape)), 0);
	sealer_stop(sealer, &status);
	CHECK_EQ(status.unsaved_samples, 0);
	CHECK_EQ(status.segments, 2);
	CHECK_EQ(look(&store).segments, 2);
	CHECK_EQ(look(&store).samples, 10 + 4 * 4);
}

/* Returns whether a thread of this process waits in open(). Only the FIFO lets one wait. */
static bool some_thread_opens(void)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *thread;
	bool opens = false;

	CHECK(threads);
	while (!opens && (thread = readdir(threads))) {
		char path[300], text[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/syscall", thread->d_name);
		file = fopen(path, "re");
		if (!file)
			continue;
		opens = fgets(text, sizeof(text), file) && strtol(text, NULL, 10) == SYS_openat;
		fclose(file);
	}
	closedir(threads);
	return opens;
}

/* Puts a tape that the sealer cannot finish before the test opens the FIFO. */
static struct sealer *start_to_hang(const struct tapes_store *store,
				    const struct sealer_options *options,
				    struct store_writer **ret_writer, char fifo[256])
{
	struct sealer *sealer;
	struct tape *tape;

	CHECK_EQ(store_writer_open(store->path, ret_writer, NULL), 0);
	CHECK_EQ(sealer_start(*ret_writer, options, &sealer, NULL), 0);
	tape = make_tape(sealer, 0, 10);
	make_fifo(store, tape, fifo);
	CHECK_EQ(sealer_put(sealer, tape), 0);
	/* otherwise the end of naming would count as progress */
	WAIT_UNTIL(some_thread_opens());
	return sealer;
}

static void count_call(void *context)
{
	(*(int *)context)++;
}

static void test_hangs(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_close_ int reader = -1;
	const struct sealer_options options = { .memory_bytes = 0 };
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), patience_ns = 30 * NSEC_PER_SEC, waited_ns;
	volatile sig_atomic_t stop = 1;
	struct sealer *sealer;
	char fifo[256];
	int calls = 0;

	tapes_store_init(&store);
	sealer = start_to_hang(&store, &options, &writer, fifo);
	pauses_pass = true;
	CHECK(!shutdown_wait(sealer, patience_ns, &stop, count_call, &calls));
	pauses_pass = false;
	waited_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	CHECK(waited_ns > patience_ns && waited_ns < patience_ns + NSEC_PER_SEC);
	CHECK(calls >= 29 && calls <= 31);
	stop = 2;
	CHECK(!shutdown_wait(sealer, UINT64_MAX, &stop, NULL, NULL));
	reader = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK(reader >= 0);
	stop = 1;
	/* a FIFO cannot be synced, and after the stop the sealer does not try again */
	CHECK(shutdown_wait(sealer, UINT64_MAX, &stop, NULL, NULL));
	sealer_stop(sealer, NULL);
}

#define STOPPED_NS (3600 * NSEC_PER_SEC)

static void stop_once(void *context)
{
	int *calls = context;

	if ((*calls)++ == 0)
		fake_clock_pass(STOPPED_NS);
}

/* While this process does not run, the store cannot make progress, so that time does not count. */
static void test_stopped_while_it_waits(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_close_ int reader = -1;
	const struct sealer_options options = { .memory_bytes = 0 };
	uint64_t patience_ns = NSEC_PER_SEC, begin_ns = clock_ns(CLOCK_MONOTONIC);
	volatile sig_atomic_t stop = 1;
	struct sealer *sealer;
	char fifo[256];
	int calls = 0;

	tapes_store_init(&store);
	sealer = start_to_hang(&store, &options, &writer, fifo);
	pauses_pass = true;
	CHECK(!shutdown_wait(sealer, patience_ns, &stop, stop_once, &calls));
	pauses_pass = false;
	/* the stop uses up a part of the allowed time, but not all of it */
	CHECK(clock_ns(CLOCK_MONOTONIC) - begin_ns > STOPPED_NS + patience_ns / 2);
	reader = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK(reader >= 0);
	sealer_stop(sealer, NULL);
}

/* The warning comes before the first tape. It is not repeated if only its numbers have changed. */
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
	WAIT_UNTIL(*status_of(sealer).warning.text);
	before = status_of(sealer);
	CHECK(strstr(before.warning.text, "the store does not grow any more"));
	for (unsigned int i = 0; i < TAPES; i++)
		CHECK_EQ(sealer_put(sealer, make_tape(sealer, i, SAMPLES)), 0);
	sealer_stop(sealer, &status);
	CHECK_STR(status.warning.text, before.warning.text);
}

CHECK_MAIN({ "tapes wait for the store", test_waits },
	   { "beyond the limit the oldest tape is unsaved, and reported", test_drops_the_oldest },
	   { "a leftover spool is tried again", test_leftovers },
	   { "the note of the last recorder says how it ended", test_leftovers_with_note },
	   { "a recorder that did not begin leaves no note", test_no_note },
	   { "the spool goes on while a segment is sealed", test_spools_meanwhile },
	   { "a tape at work is unsaved after others", test_drops_the_one_at_work },
	   { "a store that hangs at the end has limited time", test_hangs },
	   { "time in which the process was stopped does not count", test_stopped_while_it_waits },
	   { "a lack of free space is reported once", test_space },
	   { "tapes that cannot be written at the end are unsaved", test_ends_unwritten })
