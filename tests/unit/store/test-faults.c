// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs what a recorder does with the store in an hour, once for each call. In each run, that call
 * fails, writes half, or is the last one. Afterwards the store must contain everything that it had
 * reported as on the disk, and nothing twice. The next writer must not leave litter.
 */
#include "tests/check.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/fake-clock.h"
#include "tests/faults.h"
#include "tests/folders.h"
#include "tests/made-spools.h"
#include "tests/tier.h"

/* In ./test, every 11th call fails. A prime number hits loops of the store at different places. */
#define SPREAD 11

static const struct segment_want everything = { 0, UINT64_MAX, SEGMENT_ALL, 1 };

/* The results that the store reported, in memory that outlives the process. */
struct said {
	/* number of seconds of the first tape that are in the spool */
	unsigned int first;
	unsigned int second;
	/* the first tape is sealed */
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

/*
 * Spools each second, and tries again if that fails, as a recorder does. Stops at a second that
 * failed twice.
 */
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

/* Runs one scenario in a separate process. */
static void record(const char *path)
{
	struct store_limits limits = { .max_age_ns = UINT64_MAX,
				       .max_bytes = UINT64_MAX,
				       .age_by_clock = true };
	struct store_recovered recovered;
	struct store_retained retained;
	struct store_writer *writer = NULL;
	struct spooling first, second;

	/* retention removes the oldest segment: it ends at 10 s, the next one at 20 s */
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

/* Two segments, and the spool of a recorder that was killed. */
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

/*
 * Number of samples that a reader finds in one part of the recording, and of tapes that contain
 * them.
 */
struct there {
	size_t tapes;
	size_t samples;
};

struct found {
	struct there old, left, first, second;
	/* losses and segments that cannot be loaded */
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

	/* retention was stopped after it removed the file and before it removed the row */
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

/* Returns whether a partly written block or record may have been left. */
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

/* A first block that was written in part is kept, because its contents are unknown. */
static void check_litter(const char *path, const struct faults *plan)
{
	CHECK_EQ(folders_count(path, "*.new"), 0);
	CHECK_EQ(folders_count(path, "*.spool"), 0);
	CHECK(may_be_torn(plan) || folders_count(path, "*.damaged") == 0);
}

/* The next recorder seals the leftover spools, and the answers stay the same. */
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

/* Runs the scenario with a fault at that call. Returns how the process ended: 0, or FAULT_EXIT. */
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

/*
 * Runs the scenario once for each call; in ./test only for some calls. In ./test, each kind of
 * fault starts with another call, so that the kinds cover different calls.
 */
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

/*
 * Returns 0 on success. Returns 1 if the error names the lack of disk space, and 2 if SQLite
 * reported another error because it forgot why a call failed.
 */
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
		_exit(r == 0 ? 0 : r == -ENOSPC && strstr(error.text, "disk is full") ? 1 : 2);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Without its tables, an index would look damaged. */
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
		{ "a full disk at each call", test_full },
		{ "a disk that fails from each call on", test_broken },
		{ "half a write at each call, then errors", test_half },
		{ "a process killed at each call", test_killed },
		{ "a process killed at half a write", test_killed_half },
		{ "each allocation fails once", test_no_memory },
		{ "an index rebuilt on a full disk", test_rebuild_full },
	};

	/*
	 * the test syncs a thousand stores thirty times each, and on a real disk that would only
	 * take time
	 */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return said == MAP_FAILED ? 1 : check_run(tests, ARRAY_SIZE(tests));
}
