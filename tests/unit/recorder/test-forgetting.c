// SPDX-License-Identifier: GPL-2.0-only
/*
 * After weeks on a host with short-lived processes, the tracker knows only the processes that still
 * run.
 */
#include "tests/check.h"

#include <unistd.h>

#include "base/clock.h"
#include "recorder/pipeline/pipeline.h"
#include "recorder/procs/proc-scan.h"

#define SHORT_LIVED 200000
#define LONG_LIVED 50
#define EACH_ROTATION 5000

static void apply(struct tracker *tracker, const struct perf_record *record)
{
	CHECK_EQ(tracker_apply(tracker, record), 0);
}

static void start(struct tracker *tracker, int pid, const char *name, const char *path,
		  uint64_t inode)
{
	struct perf_record comm = { .type = PERF_TYPE_COMM };
	struct perf_record map = { .type = PERF_TYPE_MMAP2, .misc = PERF_MODE_USER };

	comm.comm.pid = comm.comm.tid = pid;
	comm.comm.comm = name;
	comm.comm.exec = true;
	apply(tracker, &comm);
	map.mmap.pid = map.mmap.tid = pid;
	map.mmap.start = 0x1000;
	map.mmap.size = 0x1000;
	map.mmap.inode = inode;
	map.mmap.path = path;
	apply(tracker, &map);
}

static void end(struct tracker *tracker, int pid, uint64_t time_ns)
{
	struct perf_record record = { .type = PERF_TYPE_EXIT, .time_ns = time_ns };

	record.task.pid = record.task.tid = pid;
	apply(tracker, &record);
}

static void start_long_lived(struct tracker *tracker)
{
	char name[16], path[32];

	for (int i = 0; i < LONG_LIVED; i++) {
		snprintf(name, sizeof(name), "daemon-%d", i);
		snprintf(path, sizeof(path), "/usr/sbin/daemon-%d", i);
		start(tracker, 100 + i, name, path, 10 + i);
	}
}

static void check_long_lived(struct tracker *tracker)
{
	char name[16], path[32];

	for (int i = 0; i < LONG_LIVED; i++) {
		const struct mapping *mapping = tracker_find(tracker, 100 + i, false, 0x1800);
		const struct tape_module *module;

		snprintf(name, sizeof(name), "daemon-%d", i);
		snprintf(path, sizeof(path), "/usr/sbin/daemon-%d", i);
		CHECK_STR(tracker_comm(tracker, 100 + i, 100 + i), name);
		CHECK(mapping);
		module = &tracker->modules.list.items[mapping->module];
		CHECK_STR(strings_at(&tracker->modules.paths, module->path), path);
		CHECK_EQ(module->inode, 10 + i);
	}
	CHECK_STR(strings_at(&tracker->modules.paths,
			     tracker->modules.list
				     .items[tracker_find(tracker, 0, true, 1ull << 63)->module]
				     .path),
		  "[kernel.kallsyms]");
}

static void compile(struct tracker *tracker, int number)
{
	char name[16], path[64];
	int pid = 10000 + number % 20000;

	snprintf(name, sizeof(name), "cc-%d", number);
	snprintf(path, sizeof(path), "/build/%d/conftest", number);
	start(tracker, pid, name, path, 1000 + number);
	end(tracker, pid, number);
}

static void test_bounded(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	size_t names = 0, modules = 0;

	CHECK_EQ(tracker_init(&tracker), 0);
	CHECK_EQ(tracker_add_kernel(&tracker, 1ull << 63, UINT64_MAX, "[kernel.kallsyms]", NULL, 0),
		 0);
	start_long_lived(&tracker);
	for (int i = 1; i <= SHORT_LIVED; i++) {
		compile(&tracker, i);
		names = MAX(names, (size_t)strings_count(&tracker.strings));
		modules = MAX(modules, tracker.modules.list.count);
		if (i % EACH_ROTATION == 0)
			tracker_sweep(&tracker, i - 100);
	}
	check_long_lived(&tracker);
	CHECK(names < 4 * EACH_ROTATION);
	CHECK(modules < 4 * EACH_ROTATION);
	CHECK(tracker.modules.paths.text.size < 4 * EACH_ROTATION * 32);
	CHECK(tracker.threads.count < 4 * EACH_ROTATION);
	/* a process that has just ended stays known for a moment */
	CHECK_STR(tracker_comm(&tracker, 10000 + SHORT_LIVED % 20000, 10000 + SHORT_LIVED % 20000),
		  "cc-200000");
}

/* A tape may be long. Empty records show the tracker how time passes. */
static void test_bounded_within_a_tape(void)
{
	static const struct perf_layout layout;
	static const struct pipeline_fact facts[] = { { NULL, NULL } };
	const struct pipeline_source source = { .layout = &layout };
	const struct pipeline_options options = { .segment_ns = 3600 * NSEC_PER_SEC,
						  .sources = &source,
						  .facts = facts,
						  .imported = true };
	const struct tape_anchor anchor = { .perf_ns = NSEC_PER_SEC };
	_cleanup_(pipeline_done) struct pipeline pipeline;

	CHECK_EQ(pipeline_init(&pipeline, &options), 0);
	CHECK_EQ(pipeline_anchor(&pipeline, &anchor), 0);
	CHECK_EQ(pipeline_begin(&pipeline, NSEC_PER_SEC), 0);
	for (uint64_t second = 2; second < 200; second++) {
		const struct perf_record_place place = { .time_ns = second * NSEC_PER_SEC };
		const uint8_t none[8] = { 0 };

		for (int i = 0; i < 100; i++) {
			int pid = 1000 + 100 * second + i;

			start(&pipeline.tracker, pid, "cc", "/usr/bin/cc", 1);
			end(&pipeline.tracker, pid, place.time_ns);
		}
		CHECK_EQ(pipeline_add(&pipeline, 0, &place, none, sizeof(none)), 0);
		CHECK_EQ(pipeline_flush(&pipeline, place.time_ns + 1), 0);
		/* a process that has just ended stays known for a moment */
		CHECK_STR(tracker_comm(&pipeline.tracker, 1000 + 100 * second, 0x7fffffff), "cc");
	}
	CHECK_EQ(pipeline.sequence, 1);
	CHECK(pipeline.tracker.threads.count < 100 * 20);
	CHECK(pipeline.tracker.processes.count < 100 * 20);
}

static uint32_t sampled_module(struct tape_builder *builder, struct tape *tape, int pid)
{
	struct perf_record record = {
		.type = PERF_TYPE_SAMPLE, .misc = PERF_MODE_USER, .pid = pid, .tid = pid
	};

	record.sample.ip = 0x1234 + tape->samples.count;
	CHECK_EQ(tape_builder_add(builder, &record, NULL), 0);
	return tape->frames.items[tape->samples.items[tape->samples.count - 1].frame].module;
}

/* Process numbers change while a tape is being filled. */
static void test_filled_meanwhile(void)
{
	_cleanup_(tracker_done) struct tracker tracker;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct tape_builder builder;
	uint32_t before, after;

	CHECK_EQ(tracker_init(&tracker), 0);
	CHECK_EQ(tape_new(&tape), 0);
	CHECK_EQ(tape_builder_init(&builder, &tracker), 0);
	tape_builder_start(&builder, tape);
	for (int i = 1; i <= EACH_ROTATION; i++)
		compile(&tracker, i);
	start_long_lived(&tracker);
	before = sampled_module(&builder, tape, 107);
	CHECK_STR(tape_string(tape, tape->modules.items[before].path), "/usr/sbin/daemon-7");
	tracker_sweep(&tracker, EACH_ROTATION + 1);
	CHECK_EQ(tracker.modules.generation, 1);
	after = sampled_module(&builder, tape, 107);
	CHECK_EQ(after, before);
	after = sampled_module(&builder, tape, 108);
	CHECK_STR(tape_string(tape, tape->modules.items[after].path), "/usr/sbin/daemon-8");
	tape_builder_done(&builder);
}

/*
 * The EXIT records of some processes were lost. A scan of /proc shows which processes have ended.
 */
static void test_lost_exits(void)
{
	_cleanup_(tracker_done) struct tracker tracker;

	CHECK_EQ(tracker_init(&tracker), 0);
	start(&tracker, INT32_MAX, "gone", "/usr/bin/gone", 1);
	start(&tracker, getpid(), "before", "/usr/bin/before", 2);
	CHECK_EQ(proc_scan_processes(&tracker, 1000), 0);
	CHECK_STR(tracker_comm(&tracker, INT32_MAX, INT32_MAX), "gone");
	tracker_sweep(&tracker, 500);
	CHECK(tracker_process(&tracker, INT32_MAX));
	tracker_sweep(&tracker, 2000);
	CHECK(!tracker_process(&tracker, INT32_MAX));
	CHECK(!tracker_thread(&tracker, INT32_MAX));
	CHECK(tracker_process(&tracker, getpid()));
	CHECK_STR(tracker_comm(&tracker, getpid(), getpid()), "test-forgetting");
}

CHECK_MAIN({ "ended processes are forgotten", test_bounded },
	   { "they are forgotten within a long tape too", test_bounded_within_a_tape },
	   { "processes whose EXIT records were lost are forgotten", test_lost_exits },
	   { "a tape is filled while numbers change", test_filled_meanwhile })
