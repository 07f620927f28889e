// SPDX-License-Identifier: GPL-2.0-only
/*
 * A recorder's hour with the store, in which one call fails, writes half, or is the last one: for
 * each call. Whatever the store had said was on the disk is there afterwards, nothing is there
 * twice, and the next writer leaves no litter.
 */
#include "tests/check.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/faults.h"
#include "tests/folders.h"
#include "tests/made-spools.h"
#include "tests/tier.h"

/* In ./test every 11th call fails: a prime, so that a loop of the store is hit at different places.
 */
#define SPREAD 11

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

/* What the store said: in memory that outlives the process. */
struct said {
	/* seconds of the first tape that are in the spool */
	unsigned int first;
	unsigned int second;
	/* the first tape */
	bool sealed;
	bool noted;
	long calls;
};

static struct said *said;

#define DO(call)                 \
	({                       \
		int _r;          \
		faults_arm();    \
		_r = (call);     \
		faults_disarm(); \
		_r;              \
	})

static int seal_it(void *context, struct store_writer *writer, struct tape *tape)
{
	return store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL);
}

/* Each second once more when it fails, as a recorder does; what failed twice is left out from there
 * on. */
static unsigned int spool(struct store_writer *writer, struct spooling *spooling,
			  unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds; i++) {
		_cleanup_(buffer_done) struct buffer bytes = { 0 };
		uint64_t sequence = spooling->tape->sequence;

		spooling_second(spooling, &bytes);
		if (DO(store_writer_spool(writer, sequence, bytes.data, bytes.size, NULL)) < 0 &&
		    DO(store_writer_spool(writer, sequence, bytes.data, bytes.size, NULL)) < 0)
			return i;
	}
	return seconds;
}

static void seal(struct store_writer *writer, struct spooling *spooling)
{
	for (int i = 0; i < 2 && !said->sealed; i++)
		said->sealed = DO(store_writer_seal(writer, spooling->tape, SEGMENT_HASTY, NULL,
						    NULL)) >= 0;
}

/* One scenario, in a process of its own. */
static void record(const char *path)
{
	struct store_limits limits = { .max_age_ns = UINT64_MAX,
				       .max_bytes = UINT64_MAX,
				       .age_by_clock = true };
	struct store_recovered recovered;
	struct store_retained retained;
	struct store_writer *writer = NULL;
	struct spooling first, second;

	/* the oldest one goes: it ends at 10 s, the next one at 20 s */
	limits.max_age_ns = clock_ns(CLOCK_REALTIME) - TAPES_REALTIME - 15 * NSEC_PER_SEC;
	if (DO(store_writer_open(path, &writer, NULL)) < 0 &&
	    DO(store_writer_open(path, &writer, NULL)) < 0)
		return;
	DO(store_writer_recover(writer, seal_it, NULL, &recovered, NULL));
	spooling_init(&first, store_writer_number(writer), 100);
	said->first = spool(writer, &first, 3);
	spooling_init(&second, store_writer_number(writer), 103);
	said->second = spool(writer, &second, 2);
	seal(writer, &first);
	said->noted = DO(store_writer_note_import(writer, "it", "a file", NULL)) == 0;
	DO(store_writer_retain(writer, &limits, false, NULL, NULL, &retained, NULL));
	faults_arm();
	store_writer_close(writer);
	faults_disarm();
	spooling_done(&first);
	spooling_done(&second);
}

/* Two segments and what a recorder left that was killed. */
static void make_store(struct tapes_store *store)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(spooling_done) struct spooling left;

	tapes_store_init(store);
	CHECK_EQ(store_writer_open(store->path, &writer, NULL), 0);
	for (unsigned int i = 0; i < 2; i++) {
		_cleanup_(cleanup_tape) struct tape *tape = tapes_new(i * 10, i * 10 + 10);

		tape->sequence = i;
		tapes_sample(tape, tape->begin_ns, 0, tapes_thread(tape, 1, 1, "x"), 0);
		CHECK_EQ(store_writer_seal(writer, tape, SEGMENT_HASTY, NULL, NULL), 0);
	}
	spooling_init(&left, store_writer_number(writer), 50);
	CHECK_EQ(spooling_put(&left, writer), 0);
	CHECK_EQ(spooling_put(&left, writer), 0);
}

/* What is there of the seconds from `begin` on: samples, and how many tapes they are in. */
struct there {
	size_t tapes;
	size_t samples;
};

struct found {
	struct there old, left, first, second;
	/* losses, and what cannot be loaded */
	size_t damaged;
};

static void add(struct found *found, struct store_reader *reader,
		const struct store_segment *segment)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	uint64_t second = (segment->begin_ns - TAPES_REALTIME) / NSEC_PER_SEC;
	struct there *there = second < 50    ? &found->old
			      : second < 100 ? &found->left
			      : second < 103 ? &found->first
					     : &found->second;

	int r = store_reader_load(reader, segment, &everything, &tape, NULL);

	/* retention was stopped between the file and its row */
	found->damaged += r < 0 && r != -ENOENT;
	if (r < 0)
		return;
	there->tapes++;
	there->samples += tape->samples.count;
	found->damaged += tape->losses.count;
}

static struct found look(const char *path)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct store_segments segments = { 0 };
	struct error error = { 0 };
	struct found found = { 0 };

	if (store_reader_open(path, &reader, &error) < 0 ||
	    store_reader_find(reader, 0, UINT64_MAX, &segments, &error) < 0)
		CHECK_FAIL("%s", error.text);
	for (size_t i = 0; i < segments.list.count; i++)
		add(&found, reader, &segments.list.items[i]);
	array_done(&segments.list);
	return found;
}

/* May a block or a record have been written in part and left? */
static bool may_be_torn(const struct faults *plan)
{
	return plan->kind == FAULT_KILL_HALF || plan->kind == FAULT_ON;
}

static void check_found(const struct found *found, const struct faults *plan)
{
	CHECK(found->old.tapes == found->old.samples && found->old.tapes >= 1);
	CHECK(found->old.tapes <= 2);
	CHECK_EQ(found->left.tapes, 1);
	CHECK_EQ(found->left.samples, 8);
	CHECK(found->first.tapes <= 1 && found->second.tapes <= 1);
	CHECK(found->first.samples >= 4 * said->first);
	CHECK(found->second.samples >= 4 * said->second);
	CHECK(!said->sealed || found->first.samples == 12);
	CHECK(!found->damaged || may_be_torn(plan));
}

static void find(void *context, const char *file, const char *what)
{
	printf("# %s: %s\n", file, what);
}

/* A first block of which a part was written is kept: nobody can say what was in it. */
static void check_litter(const char *path, const struct faults *plan)
{
	CHECK_EQ(folders_count(path, "*.new"), 0);
	CHECK_EQ(folders_count(path, "*.spool"), 0);
	CHECK(may_be_torn(plan) || folders_count(path, "*.damaged") == 0);
}

/* The next recorder: it seals what was left, and what is there stays the same. */
static void check_next(const char *path, const struct faults *plan)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	struct found before = look(path), after;
	struct store_recovered recovered;
	struct store_verified verified;
	struct error error = { 0 };

	if (store_writer_open(path, &writer, &error) < 0 ||
	    store_writer_recover(writer, seal_it, NULL, &recovered, &error) < 0)
		CHECK_FAIL("%s", error.text);
	after = look(path);
	check_found(&after, plan);
	CHECK_EQ(memcmp(&before, &after, sizeof(before)), 0);
	CHECK(!said->noted || store_writer_imported(writer, "it"));
	check_litter(path, plan);
	CHECK_EQ(store_reader_open(path, &reader, NULL), 0);
	CHECK_EQ(store_reader_verify(reader, find, NULL, NULL, &verified, NULL), 0);
	CHECK_EQ(verified.stale, 0);
	CHECK(!verified.damaged || may_be_torn(plan));
}

static void copy_store(const struct tapes_store *from, struct tapes_store *ret_copy)
{
	tapes_store_init(ret_copy);
	folders_copy(from->path, ret_copy->path);
}

/* Runs the scenario with a fault at that call. How the process ended: 0, or FAULT_EXIT. */
static int run_with(const struct tapes_store *template, const struct faults *plan)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct found found;
	int status;
	pid_t pid;

	copy_store(template, &store);
	*said = (struct said){ 0 };
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		faults_take_sqlite();
		faults = *plan;
		record(store.path);
		said->calls = plan->left - faults.left;
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == FAULT_EXIT);
	found = look(store.path);
	check_found(&found, plan);
	check_next(store.path, plan);
	return WEXITSTATUS(status);
}

/* For each call; in ./test for a spread of them, which begins at another call for each kind of
 * fault. */
static void each_call(enum fault_kind kind, bool memory, int error)
{
	_cleanup_(tapes_store_done) struct tapes_store template;
	struct faults plan = { .memory = memory, .left = LONG_MAX };
	long calls, tried = 0, ended = 0;

	make_store(&template);
	CHECK_EQ(run_with(&template, &plan), 0);
	CHECK(said->first == 3 && said->second == 2 && said->sealed && said->noted);
	calls = said->calls;
	printf("# %ld calls\n", calls);
	CHECK(calls > 50);
	plan = (struct faults){ .kind = kind, .memory = memory, .error = error };
	for (long at = tier_pick(1 + kind, 1); at <= calls; at += tier_pick(SPREAD, 1)) {
		plan.left = at;
		printf("# call %ld\n", at);
		ended += run_with(&template, &plan) == FAULT_EXIT;
		tried++;
	}
	CHECK(tried >= 10);
	CHECK_EQ(ended, kind == FAULT_KILL || kind == FAULT_KILL_HALF ? tried : 0);
}

static void test_full(void)
{
	each_call(FAULT_ONCE, false, ENOSPC);
}

static void test_broken(void)
{
	each_call(FAULT_ON, false, EIO);
}

static void test_half(void)
{
	each_call(FAULT_HALF, false, ENOSPC);
}

static void test_killed(void)
{
	each_call(FAULT_KILL, false, 0);
}

static void test_killed_half(void)
{
	each_call(FAULT_KILL_HALF, false, 0);
}

static void test_no_memory(void)
{
	each_call(FAULT_ONCE, true, ENOMEM);
}

/* How it ended: 0: well, 1: for want of space, 2: for what SQLite makes of that where it forgets
 * why a call failed. */
static int rebuild_with(const char *path, struct faults *plan)
{
	_cleanup_(cleanup_store_writer) struct store_writer *writer = NULL;
	struct error error = { 0 };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int r;

		faults_take_sqlite();
		CHECK_EQ(store_writer_open(path, &writer, NULL), 0);
		faults = *plan;
		r = DO(store_writer_rebuild(writer, &error));
		said->calls = plan->left - faults.left;
		_exit(r == 0 ? 0 : r == -ENOSPC && strstr(error.text, "no space") ? 1 : 2);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* An index without its tables would be damage where there is none. */
static void test_rebuild_full(void)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	struct faults plan = { .left = LONG_MAX };
	long calls, full = 0;

	make_store(&store);
	CHECK_EQ(rebuild_with(store.path, &plan), 0);
	calls = said->calls;
	CHECK(calls > 10);
	plan = (struct faults){ .kind = FAULT_ONCE, .error = ENOSPC };
	for (long at = 1; at <= calls; at++) {
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		struct store_verified verified;

		plan.left = at;
		full += rebuild_with(store.path, &plan) == 1;
		CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
		CHECK_EQ(store_reader_verify(reader, find, NULL, NULL, &verified, NULL), 0);
		CHECK_EQ(verified.damaged, 0);
	}
	CHECK(full > calls / 2);
}

int main(void)
{
	static const struct check_test tests[] = {
		{ "a call that finds the disk full", test_full },
		{ "a disk that is gone from some call on", test_broken },
		{ "a write of half, and then no more", test_half },
		{ "killed at each call", test_killed },
		{ "killed with half written", test_killed_half },
		{ "an allocation that fails", test_no_memory },
		{ "an index made anew on a full disk", test_rebuild_full },
	};

	/* a thousand stores, each synced thirty times: what a real disk adds is its time */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return said == MAP_FAILED ? 1 : check_run(tests, ARRAY_SIZE(tests));
}
