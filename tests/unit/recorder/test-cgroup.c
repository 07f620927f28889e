// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include "base/clock.h"
#include "recorder/build/tape-builder.h"
#include "recorder/procs/tracker.h"

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

static const char *cgroups[64];

static unsigned int asked;

static int read_cgroup(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX])
{
	asked++;
	if (!cgroups[pid])
		return -ENOENT;
	snprintf(path, CGROUP_PATH_MAX, "%s", cgroups[pid]);
	return 0;
}

static const char *cgroup_of(struct tracker *tracker, int32_t pid)
{
	return tracker_cgroup(tracker, tracker_process(tracker, pid), 0, 0);
}

/* The tracker reads a cgroup only if it can have changed, not for each sample. */
static void test_cgroups(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_comm(&tracker, 10, 10, "init", false);
	CHECK_STR(cgroup_of(&tracker, 10), "");
	tracker.read_cgroup = read_cgroup;
	cgroups[11] = "/a";
	apply_comm(&tracker, 11, 11, "sh", false);
	CHECK_STR(cgroup_of(&tracker, 11), "/a");
	cgroups[11] = "/b";
	CHECK_STR(cgroup_of(&tracker, 11), "/a");
	apply_comm(&tracker, 11, 11, "renamed", false);
	CHECK_STR(cgroup_of(&tracker, 11), "/a");
	apply_comm(&tracker, 11, 11, "ls", true);
	CHECK_STR(cgroup_of(&tracker, 11), "/b");
	/*
	 * if a process ended before the tracker could read its cgroup, it counts as in the cgroup
	 * of its parent
	 */
	apply_task(&tracker, PERF_TYPE_FORK, 5, 20, 20, 11, 11);
	CHECK_STR(cgroup_of(&tracker, 20), "/b");
	cgroups[11] = "/c";
	tracker_sweep(&tracker, 1);
	CHECK_STR(cgroup_of(&tracker, 11), "/b");
	tracker_expire_cgroups(&tracker);
	CHECK_STR(cgroup_of(&tracker, 11), "/c");
	CHECK_STR(cgroup_of(&tracker, 20), "/b");
	/* the pid is used again */
	apply_task(&tracker, PERF_TYPE_FORK, 9, 20, 20, 10, 10);
	CHECK_STR(cgroup_of(&tracker, 20), "");
}

static void apply_cgroup(struct tracker *tracker, uint64_t id, const char *path)
{
	struct perf_record record = { .type = PERF_TYPE_CGROUP };

	record.cgroup.id = id;
	record.cgroup.path = path;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

static const char *named(struct tracker *tracker, int32_t pid, uint64_t id, uint64_t time_ns)
{
	return tracker_cgroup(tracker, tracker_process(tracker, pid), id, time_ns);
}

static void tell_exec(struct tracker *tracker, uint64_t time_ns, int pid)
{
	struct perf_record record = { .type = PERF_TYPE_COMM, .time_ns = time_ns };

	record.comm.pid = pid;
	record.comm.exec = true;
	tracker_note_exec(tracker, &record);
}

static void apply_exec(struct tracker *tracker, uint64_t time_ns, int pid)
{
	struct perf_record record = { .type = PERF_TYPE_COMM, .time_ns = time_ns };

	record.comm.pid = record.comm.tid = pid;
	record.comm.comm = "program";
	record.comm.exec = true;
	CHECK_EQ(tracker_apply(tracker, &record), 0);
}

static const char *cgroup_then(struct tracker *tracker, int32_t pid, uint64_t time_ns)
{
	return tracker_cgroup(tracker, tracker_process(tracker, pid), 0, time_ns);
}

/*
 * A process that ended before its cgroup was read was in the cgroup in which it started, from its
 * fork on.
 */
static void test_started(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	tracker.read_cgroup = read_cgroup;
	cgroups[10] = "/shell";
	cgroups[40] = "/unit";
	apply_comm(&tracker, 10, 10, "sh", false);
	CHECK_STR(cgroup_then(&tracker, 10, 1), "/shell");
	tell_exec(&tracker, 30, 40);
	tracker_read_exec_cgroups(&tracker);
	cgroups[40] = NULL;
	apply_task(&tracker, PERF_TYPE_FORK, 20, 40, 40, 10, 10);
	CHECK_STR(cgroup_then(&tracker, 40, 25), "/unit");
	apply_exec(&tracker, 30, 40);
	CHECK_STR(cgroup_then(&tracker, 40, 35), "/unit");
	/* samples name only the hierarchy of perf events, which is not the hierarchy to report */
	apply_cgroup(&tracker, 7, "/perf/a");
	CHECK_STR(named(&tracker, 40, 7, 36), "/unit");
	/* the pid is used again by a process that ended before its cgroup was read */
	tracker_forget_execs(&tracker, 40);
	tell_exec(&tracker, 60, 40);
	tracker_read_exec_cgroups(&tracker);
	apply_task(&tracker, PERF_TYPE_FORK, 50, 40, 40, 10, 10);
	CHECK_STR(cgroup_then(&tracker, 40, 55), "/shell");
	apply_exec(&tracker, 60, 40);
	CHECK_STR(cgroup_then(&tracker, 40, 65), "/shell");
}

/*
 * An old process stays in its cgroup until it executes another program. A process that still runs
 * may have been moved.
 */
static void test_started_later(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	tracker.read_cgroup = read_cgroup;
	cgroups[41] = "/before";
	apply_exec(&tracker, 5, 41);
	CHECK_STR(cgroup_then(&tracker, 41, 6), "/before");
	cgroups[41] = "/after";
	tell_exec(&tracker, 20, 41);
	tracker_read_exec_cgroups(&tracker);
	CHECK_STR(cgroup_then(&tracker, 41, 19), "/before");
	cgroups[41] = "/moved";
	apply_exec(&tracker, 20, 41);
	CHECK_STR(cgroup_then(&tracker, 41, 21), "/moved");
}

/*
 * When many programs start, the tracker reads only as many cgroups as cost little. If samples name
 * all cgroups, the tracker does not read cgroups.
 */
static void test_started_many(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	tracker.read_cgroup = read_cgroup;
	asked = 0;
	for (int i = 0; i < 5000; i++) {
		tell_exec(&tracker, i + 1, 42);
		tracker_read_exec_cgroups(&tracker);
	}
	CHECK(asked >= 10 && asked < 1000);
	tracker_forget_execs(&tracker, UINT64_MAX);
	tracker.samples_have_cgroups = tracker.cgroup_ids.only_hierarchy = true;
	tell_exec(&tracker, 6000, 42);
	CHECK_EQ(tracker.exec_cgroups.list.count, 0);
}

static void tell_fork(struct tracker *tracker, uint64_t time_ns, int pid, int parent)
{
	struct perf_record record = { .type = PERF_TYPE_FORK, .time_ns = time_ns };

	record.task.pid = record.task.tid = pid;
	record.task.parent_pid = record.task.parent_tid = parent;
	tracker_note_exec(tracker, &record);
}

/*
 * A process that starts programs without end has only its share. The tracker still reads the cgroup
 * of another process's program.
 */
static void test_exec_storm(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	tracker.read_cgroup = read_cgroup;
	for (int i = 0; i < 5000; i++) {
		tell_fork(&tracker, 0, 1000 + i, 900);
		tell_exec(&tracker, i + 1, 1000 + i);
	}
	for (int i = 0; i < 5000; i++)
		tell_exec(&tracker, 5001 + i, 901);
	CHECK(tracker.exec_cgroups.list.count <= 128);
	tell_fork(&tracker, 0, 40, 800);
	tell_exec(&tracker, 20000, 40);
	CHECK_EQ(tracker.exec_cgroups.list.items[tracker.exec_cgroups.list.count - 1].pid, 40);
	/* the next second has a new share */
	tracker_forget_execs(&tracker, UINT64_MAX);
	tell_exec(&tracker, 20001, 901);
	CHECK_EQ(tracker.exec_cgroups.list.count, 1);
}

static void check_choice(const char *text, const char *expected)
{
	_cleanup_free_ char *copy = strdup(text);

	CHECK_STR(cgroup_choose(copy), expected);
}

static void test_cgroup_choice(void)
{
	check_choice("0::/system.slice/ssh.service\n", "/system.slice/ssh.service");
	check_choice("0::/\n", "/");
	check_choice("", "");
	check_choice("nonsense\n4:memory\n", "");
	/* the order is: the unified hierarchy, then cpu, systemd, memory, and others */
	check_choice("4:memory:/m\n2:cpu,cpuacct:/c\n1:name=systemd:/s\n0::/u\n", "/u");
	check_choice("4:memory:/m\n2:cpuacct,cpu:/c\n1:name=systemd:/s\n0::/\n", "/c");
	check_choice("4:memory:/m\n3:cpuset:/x\n2:cpu:/\n1:name=systemd:/s\n0::/\n", "/s");
	check_choice("5:pids:/p\n4:memory:/m\n2:cpuacct:/a\n1:name=systemd:/\n0::/\n", "/m");
	check_choice("5:pids:/p\n2:cpuacct:/a\n0::/\n", "/p");
	/* a colon may be part of a path */
	check_choice("0::/a:b/c", "/a:b/c");
}

/* As long as a process stays in its cgroup, its threads stay the same in the tape. */
static void test_cgroup_of_a_sample(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct perf_record record = { .type = PERF_TYPE_SAMPLE, .pid = 11, .tid = 11 };
	struct tape_builder builder;

	CHECK_EQ(tracker_init(&tracker), 0);
	CHECK_EQ(tape_new(&tape), 0);
	tracker.read_cgroup = read_cgroup;
	CHECK_EQ(tape_builder_init(&builder, &tracker), 0);
	tape_builder_start(&builder, tape);
	cgroups[11] = "/a";
	apply_comm(&tracker, 11, 11, "sh", false);
	CHECK_EQ(tape_builder_add(&builder, &record, NULL), 0);
	CHECK_EQ(tape_builder_add(&builder, &record, NULL), 0);
	cgroups[11] = "/b";
	tracker_expire_cgroups(&tracker);
	CHECK_EQ(tape_builder_add(&builder, &record, NULL), 0);
	CHECK_EQ(tape->threads.count, 2);
	CHECK_STR(tape_string(tape, tape->threads.items[0].cgroup), "/a");
	CHECK_STR(tape_string(tape, tape->threads.items[1].cgroup), "/b");
	CHECK_EQ(tape->samples.items[1].thread, 0);
	CHECK_EQ(tape->samples.items[2].thread, 1);
	tape_builder_done(&builder);
}

#define ROOT 1

/*
 * If samples name the cgroup, the tracker reads no cgroup. A process that ended has the cgroup of
 * its samples, and a process that moves has the new cgroup at once.
 */
static void test_named_cgroups(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	tracker.read_cgroup = read_cgroup;
	tracker.cgroup_ids.unified = true;
	apply_cgroup(&tracker, ROOT, "/");
	apply_cgroup(&tracker, 7, "/short");
	apply_cgroup(&tracker, 8, "/moved");
	cgroups[30] = "/v1";
	cgroups[31] = NULL;
	apply_comm(&tracker, 30, 30, "sh", false);
	asked = 0;
	CHECK_STR(named(&tracker, 30, 7, 1), "/short");
	CHECK_STR(named(&tracker, 30, 8, 2), "/moved");
	apply_task(&tracker, PERF_TYPE_FORK, 3, 31, 31, 30, 30);
	CHECK_STR(named(&tracker, 31, 7, 4), "/short");
	tracker_expire_cgroups(&tracker);
	CHECK_STR(named(&tracker, 30, 8, 5), "/moved");
	CHECK_EQ(asked, 0);
	/*
	 * the root of the unified hierarchy does not identify cgroups of other hierarchies, and an
	 * unknown number does not identify any cgroup
	 */
	CHECK_STR(named(&tracker, 30, ROOT, 6), "/v1");
	CHECK_STR(named(&tracker, 31, ROOT, 6), "/short");
	CHECK_EQ(asked, 2);
	CHECK_STR(named(&tracker, 30, 99, NSEC_PER_SEC + 7), "/v1");
	CHECK_EQ(asked, 3);
}

/*
 * Perf events have a separate hierarchy. /proc names the right cgroup, but not for processes that
 * have ended. Processes with threads in several cgroups are read once per second.
 */
static void test_own_hierarchy(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	tracker.read_cgroup = read_cgroup;
	apply_cgroup(&tracker, 7, "/perf/a");
	apply_cgroup(&tracker, 8, "/perf/b");
	cgroups[30] = "/system/a";
	cgroups[31] = NULL;
	apply_comm(&tracker, 30, 30, "sh", false);
	apply_task(&tracker, PERF_TYPE_FORK, 1, 31, 31, 30, 30);
	asked = 0;
	CHECK_STR(named(&tracker, 30, 7, 1), "/system/a");
	CHECK_STR(named(&tracker, 31, 8, 1), "/perf/b");
	CHECK_EQ(asked, 2);
	for (int i = 0; i < 100; i++)
		CHECK_STR(named(&tracker, 30, 7 + i % 2, 2 + i), "/system/a");
	CHECK_EQ(asked, 2);
	cgroups[30] = "/system/b";
	CHECK_STR(named(&tracker, 30, 7, NSEC_PER_SEC + 1), "/system/b");
	CHECK_EQ(asked, 3);
	/* the cgroup of a new program is read at once */
	cgroups[30] = "/system/c";
	apply_comm(&tracker, 30, 30, "ls", true);
	CHECK_STR(named(&tracker, 30, 7, NSEC_PER_SEC + 2), "/system/c");
}

/* In an imported file, the samples name everything that is known, also the root. */
static void test_imported_cgroups(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	apply_cgroup(&tracker, ROOT, "/");
	apply_cgroup(&tracker, 7, "/a");
	apply_comm(&tracker, 30, 30, "sh", false);
	CHECK_STR(named(&tracker, 30, 99, 1), "");
	CHECK_STR(named(&tracker, 30, ROOT, 2), "/");
	CHECK_STR(named(&tracker, 30, 7, 3), "/a");
}

/* Cgroups in use stay known while many others come and go. */
static void test_many_cgroups(void)
{
	struct cgroup_ids ids = { 0 };
	char path[32];

	for (uint64_t id = 1; id <= 5 * CGROUP_IDS_MAX; id++) {
		snprintf(path, sizeof(path), "/%u", (unsigned int)id);
		CHECK_EQ(cgroup_ids_add(&ids, id, path), 0);
		CHECK_EQ(cgroup_ids_add(&ids, id, "/twice"), 0);
		CHECK_STR(cgroup_ids_find(&ids, 1), "/1");
		CHECK_STR(cgroup_ids_find(&ids, id), path);
	}
	CHECK(!cgroup_ids_find(&ids, 2));
	CHECK(ids.recent.list.count + ids.older.list.count <= 2 * CGROUP_IDS_MAX);
	cgroup_ids_done(&ids);
}

/* A user or a container makes as many cgroups as it likes, but they have one owner. */
static void test_cgroup_owners(void)
{
	static const char *const rows[][2] = {
		{ "/user.slice/user-1000.slice", "/user@1000.service/app.slice/a.scope" },
		{ "/user.slice/user-1000.slice", "/session-2.scope" },
		{ "/system.slice/docker-0123.scope", "/system.slice/x.service" },
		{ "/system.slice/system-db.slice/db@1.service", "/x.slice/y" },
		{ "/kubepods.slice/kubepods-pod7.slice/cri-containerd-9.scope", "/x" },
		{ "/machine.slice/libpod-7.scope", "/container" },
		{ "/kubepods/burstable/pod7", "/9/x" },
		{ "/docker/0123", "/x.slice" },
		{ "/lxc.payload.name", "/x" },
		{ "/lxc/name", "/x.scope/y" },
		{ "/init.scope", "" },
		{ "/a", "" },
		{ "/a/b", "" },
		{ "/user.slice", "" },
		{ "/.slice", "" },
		{ "/.slice/b", "/c" },
	};
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(path, sizeof(path), "%s%s", rows[i][0], rows[i][1]);
		CHECK_EQ(cgroup_owner_size(path), strlen(rows[i][0]));
		CHECK_EQ(cgroup_owner_size(rows[i][0]), strlen(rows[i][0]));
	}
	CHECK_EQ(cgroup_owner_size(""), 0);
	CHECK(cgroup_owner_size("/") <= 1);
	CHECK(cgroup_owner_size("//") <= 2);
}

/* A process that forks, and whose children fork, does not get another owner each time. */
static void test_forks_keep_owner(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	uint64_t shell, unit;

	CHECK_EQ(tracker_init(&tracker), 0);
	CHECK_EQ(tracker_owner(&tracker, 10), TRACKER_OWNER_UNKNOWN);
	apply_comm(&tracker, 10, 10, "sh", false);
	shell = tracker_owner(&tracker, 10);
	CHECK(shell != TRACKER_OWNER_UNKNOWN);
	/* each process has its owner before the record of its fork is applied, and afterwards */
	for (int pid = 100; pid < 100 + 2 * EXEC_FORKS; pid++) {
		tell_fork(&tracker, pid, pid, pid == 100 ? 10 : pid - 1);
		CHECK_EQ(tracker_owner(&tracker, pid), shell);
		if (pid % 2)
			apply_task(&tracker, PERF_TYPE_FORK, pid, pid, pid, pid - 1, pid - 1);
	}
	CHECK_EQ(tracker_owner(&tracker, 101), shell);
	/* the number of a process that has ended belongs to its next process */
	tracker.read_cgroup = read_cgroup;
	cgroups[40] = "/system.slice/x.service";
	apply_comm(&tracker, 40, 40, "x", false);
	CHECK_STR(cgroup_of(&tracker, 40), cgroups[40]);
	unit = tracker_owner(&tracker, 40);
	CHECK(unit != shell);
	apply_task(&tracker, PERF_TYPE_EXIT, 5000, 40, 40, 10, 10);
	CHECK_EQ(tracker_owner(&tracker, 40), unit);
	tell_fork(&tracker, 5001, 40, 10);
	CHECK_EQ(tracker_owner(&tracker, 40), shell);
}

CHECK_MAIN({ "a cgroup is read when it can have changed", test_cgroups },
	   { "a process that ended keeps the cgroup of its start", test_started },
	   { "a process that executes another program", test_started_later },
	   { "a storm of programs costs little", test_started_many },
	   { "a storm of one process leaves room for others", test_exec_storm },
	   { "one hierarchy of many is chosen", test_cgroup_choice },
	   { "a cgroup shows its owner", test_cgroup_owners },
	   { "a process that forks keeps its owner", test_forks_keep_owner },
	   { "a sample has its cgroup", test_cgroup_of_a_sample },
	   { "samples name cgroups", test_named_cgroups },
	   { "perf events with a hierarchy of their own", test_own_hierarchy },
	   { "an imported file names cgroups", test_imported_cgroups },
	   { "cgroups in use stay known", test_many_cgroups })
