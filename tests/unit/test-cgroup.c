// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include "recorder/filler.h"
#include "recorder/tracker.h"

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

static int read_cgroup(struct proc_reader *reader, int32_t pid, char path[CGROUP_PATH_MAX])
{
	if (!cgroups[pid])
		return -ENOENT;
	snprintf(path, CGROUP_PATH_MAX, "%s", cgroups[pid]);
	return 0;
}

static const char *cgroup_of(struct tracker *tracker, int32_t pid)
{
	return tracker_cgroup(tracker, tracker_process(tracker, pid));
}

/* Asked for when it can have changed, and not for each sample. */
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
	/* one that is gone before it could be asked is where its parent was */
	apply_task(&tracker, PERF_TYPE_FORK, 5, 20, 20, 11, 11);
	CHECK_STR(cgroup_of(&tracker, 20), "/b");
	cgroups[11] = "/c";
	tracker_sweep(&tracker, 1);
	CHECK_STR(cgroup_of(&tracker, 11), "/c");
	CHECK_STR(cgroup_of(&tracker, 20), "/b");
	/* a number that is used again */
	apply_task(&tracker, PERF_TYPE_FORK, 9, 20, 20, 10, 10);
	CHECK_STR(cgroup_of(&tracker, 20), "");
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
	/* the unified one, then cpu, then systemd, then memory, then others */
	check_choice("4:memory:/m\n2:cpu,cpuacct:/c\n1:name=systemd:/s\n0::/u\n", "/u");
	check_choice("4:memory:/m\n2:cpuacct,cpu:/c\n1:name=systemd:/s\n0::/\n", "/c");
	check_choice("4:memory:/m\n3:cpuset:/x\n2:cpu:/\n1:name=systemd:/s\n0::/\n", "/s");
	check_choice("5:pids:/p\n4:memory:/m\n2:cpuacct:/a\n1:name=systemd:/\n0::/\n", "/m");
	check_choice("5:pids:/p\n2:cpuacct:/a\n0::/\n", "/p");
	/* a colon is part of a path */
	check_choice("0::/a:b/c", "/a:b/c");
}

/* A thread of the tape is one as long as its process stays where it is. */
static void test_cgroup_of_a_sample(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct perf_record record = { .type = PERF_TYPE_SAMPLE, .pid = 11, .tid = 11 };
	struct filler filler;

	CHECK_EQ(tracker_init(&tracker), 0);
	CHECK_EQ(tape_new(&tape), 0);
	tracker.read_cgroup = read_cgroup;
	CHECK_EQ(filler_init(&filler, &tracker), 0);
	filler_start(&filler, tape);
	cgroups[11] = "/a";
	apply_comm(&tracker, 11, 11, "sh", false);
	CHECK_EQ(filler_add(&filler, &record), 0);
	CHECK_EQ(filler_add(&filler, &record), 0);
	cgroups[11] = "/b";
	tracker_sweep(&tracker, 0);
	CHECK_EQ(filler_add(&filler, &record), 0);
	CHECK_EQ(tape->threads.count, 2);
	CHECK_STR(tape_string(tape, tape->threads.items[0].cgroup), "/a");
	CHECK_STR(tape_string(tape, tape->threads.items[1].cgroup), "/b");
	CHECK_EQ(tape->samples.items[1].thread, 0);
	CHECK_EQ(tape->samples.items[2].thread, 1);
	filler_done(&filler);
}

CHECK_MAIN({ "asked for when it can have changed, and not for each sample", test_cgroups },
	{ "which of many", test_cgroup_choice }, { "of a sample", test_cgroup_of_a_sample })
