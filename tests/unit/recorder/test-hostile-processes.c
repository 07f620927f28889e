// SPDX-License-Identifier: GPL-2.0-only
/* A process that wants too much loses its own detail, and no other process does. */
#include "tests/check.h"

#include <unistd.h>

#include "base/clock.h"
#include "recorder/build/tape-builder.h"
#include "recorder/files/work-share.h"
#include "recorder/procs/accounts.h"
#include "recorder/procs/proc-scan.h"
#include "recorder/procs/tracker.h"

static const struct account_limits limits = {
	.own = { .burst = 100, .rate = 10 },
	.sure = { .burst = 20, .rate = 2 },
	.all = { .burst = 250, .rate = 5 },
};

static size_t take_all(struct accounts *accounts, uint64_t key)
{
	size_t count = 0;

	while (count < 1000 && accounts_take(accounts, key, 1))
		count++;
	return count;
}

static void test_accounts(void)
{
	_cleanup_(accounts_done) struct accounts accounts;

	accounts_init(&accounts, &limits);
	/* each account has a bound of 100 */
	CHECK_EQ(take_all(&accounts, 1), 100);
	CHECK_EQ(take_all(&accounts, 1), 0);
	CHECK_EQ(accounts.list.items[0].refused, 2);
	CHECK_EQ(take_all(&accounts, 2), 100);
	/*
	 * all accounts share a bound: 50 are left, and beyond them each account has its sure part
	 * of 20
	 */
	CHECK_EQ(take_all(&accounts, 3), 70);
	CHECK_EQ(take_all(&accounts, 4), 20);
	CHECK(accounts_take(&accounts, 5, 0));
	CHECK_EQ(take_all(&accounts, 5), 20);
	accounts_begin(&accounts, 1);
	CHECK_EQ(accounts.all, 5);
	CHECK_EQ(take_all(&accounts, 1), 10);
	CHECK_EQ(take_all(&accounts, 4), 2);
	/* a late caller begins several periods at once */
	accounts_begin(&accounts, 3);
	CHECK_EQ(accounts.all, 15);
	CHECK_EQ(take_all(&accounts, 1), 30);
	for (int i = 0; i < 100; i++)
		accounts_begin(&accounts, 1);
	CHECK_EQ(accounts.all, 250);
	/* a large request empties the bucket, so that the next one is refused */
	CHECK(accounts_take(&accounts, 1, 1000));
	CHECK(!accounts_take(&accounts, 1, 0));
}

/* An account that owes is refused until refills have paid. */
static void test_accounts_owe(void)
{
	struct account_limits owing = limits;
	_cleanup_(accounts_done) struct accounts accounts;

	owing.owed_max = 45;
	accounts_init(&accounts, &owing);
	CHECK(accounts_take(&accounts, 1, 125));
	CHECK_EQ(accounts.list.items[0].own, -25);
	accounts_begin(&accounts, 2);
	CHECK(!accounts_take(&accounts, 1, 0));
	accounts_begin(&accounts, 1);
	CHECK_EQ(take_all(&accounts, 1), 5);
	/* the debt has a bound, and costs others nothing */
	accounts_begin(&accounts, 1);
	CHECK(accounts_take(&accounts, 1, UINT64_MAX));
	CHECK_EQ(accounts.list.items[0].own, -45);
	CHECK(accounts_take(&accounts, 2, 0));
	accounts_begin(&accounts, UINT64_MAX / 100);
	CHECK_EQ(take_all(&accounts, 1), 100);
}

/* Anybody may make many accounts. */
static void test_accounts_are_bounded(void)
{
	_cleanup_(accounts_done) struct accounts accounts;
	size_t refused = 0;

	accounts_init(&accounts, &limits);
	for (uint64_t key = 0; key < 100000; key++)
		accounts_take(&accounts, key, 0);
	CHECK_EQ(accounts.list.count, ACCOUNTS_MAX);
	/*
	 * few other keys share the exhausted account, except its first account, which any key may
	 * share
	 */
	take_all(&accounts, accounts.list.items[0].key);
	for (uint64_t key = 100000; key < 101000; key++)
		refused += !accounts_take(&accounts, key, 0);
	CHECK(refused < 10);
	accounts_begin(&accounts, 1000);
	CHECK_EQ(accounts.list.count, 0);
	for (uint64_t key = 0; key < 2000; key++)
		accounts_take(&accounts, key, 0);
	accounts_take(&accounts, 7, 50);
	accounts_begin(&accounts, 1);
	CHECK_EQ(accounts.list.count, 1);
	CHECK_EQ(accounts.list.items[0].key, 7);
	/* refused requests do not keep an account for ever */
	take_all(&accounts, 7);
	CHECK(accounts.list.items[0].refused > 0);
	for (uint64_t key = 0; key < 2000; key++)
		accounts_take(&accounts, key, 0);
	accounts_begin(&accounts, 1000);
	CHECK_EQ(accounts.list.count, 0);
}

#define BEGIN_NS (1000 * NSEC_PER_SEC)

/* Files of one owner that take long to read cost the others nothing. */
static void test_work_share(void)
{
	_cleanup_(work_share_done) struct work_share share;
	uint64_t spent = 0;

	work_share_init(&share, (struct account_bucket){ 250000, 10000 });
	for (; spent < 100 && work_share_admits(&share, 1, BEGIN_NS); spent++)
		work_share_spend(&share, 1, 10 * NSEC_PER_MSEC);
	CHECK_EQ(spent, 25);
	CHECK(work_share_admits(&share, 2, BEGIN_NS));
	/* each second gives 10 ms of the share back */
	CHECK(!work_share_admits(&share, 1, BEGIN_NS + NSEC_PER_SEC - 1));
	CHECK(work_share_admits(&share, 1, BEGIN_NS + NSEC_PER_SEC));
	work_share_spend(&share, 1, 10 * NSEC_PER_MSEC);
	CHECK(!work_share_admits(&share, 1, BEGIN_NS + 2 * NSEC_PER_SEC - 1));
	CHECK(work_share_admits(&share, 1, BEGIN_NS + 3 * NSEC_PER_SEC));
	/* many owners together: whoever reads few files is never refused */
	for (uint64_t owner = 10; owner < 100; owner++)
		work_share_spend(&share, owner, NSEC_PER_SEC);
	CHECK(!work_share_admits(&share, 10, BEGIN_NS + 3 * NSEC_PER_SEC));
	for (spent = 0; spent < 100 && work_share_admits(&share, 3, BEGIN_NS + 3 * NSEC_PER_SEC);
	     spent++)
		work_share_spend(&share, 3, NSEC_PER_MSEC - NSEC_PER_USEC);
	CHECK_EQ(spent, 50);
	/* the person who imports a file pays for nothing */
	work_share_spend(&share, 0, 100 * NSEC_PER_SEC);
	CHECK(work_share_admits(&share, 0, BEGIN_NS));
}

static void apply_comm(struct tracker *tracker, int pid, int tid, const char *comm, bool exec)
{
	struct perf_record record = { .type = PERF_TYPE_COMM };

	record.comm.pid = pid;
	record.comm.tid = tid;
	record.comm.comm = comm;
	record.comm.exec = exec;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

static void apply_task(struct tracker *tracker, uint32_t type, uint64_t time, int pid, int tid,
		       int parent_pid, int parent_tid)
{
	struct perf_record record = { .type = type, .time_ns = time };

	record.task.pid = pid;
	record.task.tid = tid;
	record.task.parent_pid = parent_pid;
	record.task.parent_tid = parent_tid;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

static void apply_mmap(struct tracker *tracker, int pid, uint64_t start, uint64_t end,
		       const char *path)
{
	struct perf_record record = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

	record.mmap.pid = record.mmap.tid = pid;
	record.mmap.start = start;
	record.mmap.size = end - start;
	record.mmap.path = path;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

static const char *path_at(struct tracker *tracker, int pid, uint64_t address)
{
	const struct mapping *mapping = tracker_find(tracker, pid, false, address);

	return mapping ? strings_at(&tracker->modules.paths,
				    tracker->modules.list.items[mapping->module].path)
		       : "-";
}

/* The kernel reports no munmap(), so a process makes as many mappings as it likes. */
static void test_too_many_mappings(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	uint64_t start = 1ull << 40;
	int32_t pid = 0;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_mmap(&tracker, 11, 0x1000, 0x2000, "/bin/other");
	for (int i = 0; i < 100000; i++)
		apply_mmap(&tracker, 10, start - 2 * i, start - 2 * i + 1, "/bin/hostile");
	CHECK(tracker.maps.count <= MAPS_MAX + 2);
	CHECK(tracker.refused.total >= 100000 - MAPS_MAX);
	/* its maps are read again, less and less often */
	CHECK_EQ(tracker_next_reread(&tracker, 1, &pid), 1);
	CHECK_EQ(pid, 10);
	CHECK_STR(path_at(&tracker, 10, start), "-");
	CHECK_STR(path_at(&tracker, 11, 0x1000), "/bin/other");
	apply_mmap(&tracker, 10, start, start + 1, "/bin/hostile");
	CHECK_STR(path_at(&tracker, 10, start), "/bin/hostile");
	tracker_end_reread(&tracker, 10);
	CHECK_EQ(tracker_next_reread(&tracker, 2, &pid), 0);
	for (int i = 0; i < 2 * MAPS_MAX; i++)
		apply_mmap(&tracker, 10, start - 2 * i, start - 2 * i + 1, "/bin/hostile");
	CHECK_EQ(tracker_next_reread(&tracker, 2, &pid), 0);
	CHECK_EQ(tracker_next_reread(&tracker, 2000000000, &pid), 1);
	/* children share the mappings, and one that changes them gets a copy */
	for (int child = 20; child < 40; child++)
		apply_task(&tracker, PERF_TYPE_FORK, 5, child, child, 10, 10);
	CHECK(tracker.maps.count <= MAPS_MAX + 2);
}

/* Processes make mappings with names of 4 KB, which replace one another. */
static void test_long_names(void)
{
	static char path[4000];
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_mmap(&tracker, 11, 0x1000, 0x2000, "/bin/other");
	memset(path, 'n', sizeof(path) - 1);
	for (int i = 0; i < 50000; i++) {
		snprintf(path, 20, "/%d", i);
		path[strlen(path)] = '-';
		/*
		 * always the same address, so that the limit of mappings does not bound the names
		 */
		apply_mmap(&tracker, 10 + 10 * (i % 9), 0x1000 * (i % 100), 0x1000 * (i % 100) + 1,
			   path);
		if (i % 1000 == 0)
			tracker_forget_unused(&tracker);
		CHECK(modules_bytes(&tracker.modules) < MODULES_TEXT_MAX / 4 * 5 + sizeof(path));
	}
	apply_mmap(&tracker, 11, 0x3000, 0x4000, "/lib/new");
	CHECK_STR(path_at(&tracker, 11, 0x1000), "/bin/other");
	CHECK_STR(path_at(&tracker, 11, 0x3000), "/lib/new");
}

#define MANY 200

/* Maps a path of 4 KB, like no other one. */
static void apply_long_name(struct tracker *tracker, int pid, uint64_t start)
{
	static unsigned int number;
	static char path[4000];

	memset(path, 'n', sizeof(path) - 1);
	snprintf(path, 20, "/%u", number++);
	path[strlen(path)] = '-';
	apply_mmap(tracker, pid, start, start + 0x1000, path);
}

/* Many processes fill the memory for names, each with few mappings. */
static void test_long_names_of_many(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	char path[40];

	CHECK_EQ(tracker_init(&tracker), 0);
	for (int i = 0; i < 60; i++)
		for (int pid = 100; pid < 100 + MANY; pid++)
			apply_long_name(&tracker, pid, 0x1000 * (i + 1));
	CHECK(tracker.refused.total > 0);
	/* another process has room for its own names, which need no forgetting */
	for (int i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "/usr/lib/libexample-%d.so.1", i);
		apply_mmap(&tracker, 11, 0x1000 * (i + 1), 0x1000 * (i + 2), path);
	}
	CHECK_STR(path_at(&tracker, 11, 0x1000 * 40), "/usr/lib/libexample-39.so.1");
	/* an exec gives nobody another share, nor does a fork */
	apply_comm(&tracker, 100, 100, "hostile", true);
	apply_task(&tracker, PERF_TYPE_FORK, 5, 99, 99, 101, 101);
	apply_long_name(&tracker, 100, 0x1000);
	apply_long_name(&tracker, 99, 0x1000 * 100);
	CHECK_STR(path_at(&tracker, 100, 0x1000), "-");
	CHECK_STR(path_at(&tracker, 99, 0x1000 * 100), "-");
	/* what another process has mapped needs no room */
	apply_mmap(&tracker, 100, 0x1000, 0x2000, "/usr/lib/libexample-39.so.1");
	CHECK_STR(path_at(&tracker, 100, 0x1000), "/usr/lib/libexample-39.so.1");
	CHECK(modules_bytes(&tracker.modules) < MODULES_BYTES_MAX / 2);
}

/* Names that are no longer in use must make room, however many there were. */
static void test_names_are_forgotten(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	for (int pid = 100; pid < 100 + MANY; pid++)
		for (int i = 0; i < 60; i++)
			apply_long_name(&tracker, pid, 0x1000 * (i + 1));
	tracker_forget_unused(&tracker);
	CHECK(modules_bytes(&tracker.modules) >= MODULES_TEXT_MAX - 4096);
	for (int pid = 100; pid < 100 + MANY; pid++)
		apply_task(&tracker, PERF_TYPE_EXIT, 5, pid, pid, 1, 1);
	tracker_sweep(&tracker, 10);
	for (int i = 0; i < 2000; i++)
		apply_long_name(&tracker, 99, 0x1000 * (i + 1));
	CHECK_STR(path_at(&tracker, 99, 0x1000 * 2000), "-");
	apply_task(&tracker, PERF_TYPE_EXIT, 5, 99, 99, 1, 1);
	tracker_sweep(&tracker, 10);
	for (int i = 0; i < 4; i++)
		tracker_forget_unused(&tracker);
	CHECK(modules_bytes(&tracker.modules) < MODULES_TEXT_MAX / 8);
}

/*
 * Process 10 runs once in code under a path of its choice. Returns the result of
 * tape_builder_add().
 */
static int run_under(struct tape_builder *builder, const char *path, uint64_t number)
{
	struct perf_record record = {
		.type = PERF_TYPE_SAMPLE, .misc = PERF_MODE_USER, .pid = 10, .tid = 10
	};

	record.sample.ip = 0x100000 + number * 0x1000;
	apply_mmap(builder->tracker, 10, record.sample.ip, record.sample.ip + 0x1000, path);
	return tape_builder_add(builder, &record, NULL);
}

static const char *last_leaf_path(const struct tape *tape)
{
	uint32_t frame = tape->samples.items[tape->samples.count - 1].frame;
	uint32_t module = tape->frames.items[frame].module;

	return tape_string(tape, tape->modules.items[module].path);
}

/* Each sample is in a file with another path of 4 KB. */
static void test_long_paths(void)
{
	static char path[4000];
	_cleanup_(tracker_done) struct tracker tracker;
	_cleanup_(tape_builder_done) struct tape_builder builder;
	struct tape *tape;
	size_t size;

	CHECK_EQ(tracker_init(&tracker), 0);
	CHECK_EQ(tape_builder_init(&builder, &tracker), 0);
	CHECK_EQ(tape_new(&tape), 0);
	tape_builder_limit(&builder, 100, 1);
	tape_builder_start(&builder, tape);
	apply_comm(&tracker, 10, 10, "hostile", false);
	memset(path, 'n', sizeof(path) - 1);
	for (int i = 0; i < 500; i++) {
		snprintf(path, 20, "/%d", i);
		path[strlen(path)] = '-';
		CHECK(run_under(&builder, path, i) >= 0);
	}
	CHECK_EQ(tape->samples.count, 500);
	size = tape->strings.text.size;
	CHECK(size > 100 * sizeof(path) && size < 140 * sizeof(path));
	CHECK_STR(last_leaf_path(tape), TAPE_CUT);
	CHECK(builder.cut.total > 300 && builder.cut.total < 400);
	/* usual paths stay, and the account pays for long ones again after some time */
	CHECK_EQ(run_under(&builder, "/usr/bin/app", 500), 0);
	CHECK_STR(last_leaf_path(tape), "/usr/bin/app");
	tape_builder_limit(&builder, 100, 1);
	path[1] = 'x';
	CHECK_EQ(run_under(&builder, path, 501), 0);
	CHECK_STR(last_leaf_path(tape), path);
	tape_free(tape);
}

/* A scan in the smallest parts finds the same processes as a scan in one part. */
static void test_walk_in_parts(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	struct proc_walk walk = { 0 };
	int32_t self = getpid(), gone = INT32_MAX;
	int r = 1;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_comm(&tracker, gone, gone, "gone", false);
	while (r == 1)
		r = proc_walk_run(&walk, &tracker, 7, 0);
	CHECK_EQ(r, 0);
	CHECK_STR(tracker_comm(&tracker, self, self), "test-hostile-pr");
	CHECK(tracker_process(&tracker, self)->maps->count);
	CHECK_EQ(tracker_process(&tracker, gone)->exited_ns, 7);
	/* a process that starts meanwhile has not ended */
	CHECK_EQ(proc_walk_run(&walk, &tracker, 9, 0), 1);
	apply_task(&tracker, PERF_TYPE_FORK, 8, gone - 1, gone - 1, 1, 1);
	CHECK_EQ(proc_walk_run(&walk, &tracker, 9, UINT64_MAX), 0);
	CHECK_EQ(tracker_process(&tracker, gone - 1)->exited_ns, 0);
	proc_walk_done(&walk);
}

CHECK_MAIN({ "an account never spends what others may", test_accounts },
	   { "an account pays what it owes", test_accounts_owe },
	   { "accounts are bounded", test_accounts_are_bounded },
	   { "files that take long to read cost their owner", test_work_share },
	   { "a process with too many mappings loses its own", test_too_many_mappings },
	   { "long names of mappings are bounded", test_long_names },
	   { "many processes with long names leave room for others", test_long_names_of_many },
	   { "unused names of mappings make room", test_names_are_forgotten },
	   { "long paths of sampled files are bounded", test_long_paths },
	   { "/proc is scanned in parts", test_walk_in_parts })
