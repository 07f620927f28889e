/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Runs audits of trees of files. The audit uses a clock of the test, on which waiting takes no
 * time. All functions CHECK.
 */

#include <fcntl.h>
#include <sys/stat.h>

#include "audit/audit.h"
#include "cli/answer/audit-text.h"
#define FAKE_CLOCK_RUNS_REALTIME
#define FAKE_CLOCK_POLLS
#include "tests/fake-clock.h"
#include "tests/tapes.h"
#include "tests/tree.h"

#define MOUNT_V2 "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n"

struct audits {
	struct tree tree;
	struct audit_options options;
	struct report report;
	struct buffer text;
	uint64_t now_ns;
	/* Changes the tree at the first wait. May be NULL. */
	void (*passes)(struct audits *audits);
	unsigned int waits;
	/*
	 * Changes the tree at the waits for threads, which follow the waits of the watch. May be
	 * NULL.
	 */
	void (*passes_later)(struct audits *audits);
};

static inline uint64_t audits_now(void *context)
{
	return ((struct audits *)context)->now_ns;
}

static inline void audits_wait(void *context, uint64_t ns)
{
	struct audits *audits = context;
	unsigned int watch = (audits->options.watch_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC;

	audits->now_ns += ns;
	if (!audits->waits && audits->passes)
		audits->passes(audits);
	if (audits->waits == watch && audits->passes_later)
		audits->passes_later(audits);
	audits->waits++;
}

static inline void audits_init(struct audits *audits)
{
	*audits = (struct audits){ .now_ns = TAPES_REALTIME };
	tree_init(&audits->tree);
	audits->options = (struct audit_options){
		.root = audits->tree.root,
		.watch_ns = 5 * NSEC_PER_SEC,
		.now_ns = audits_now,
		.wait = audits_wait,
		.context = audits,
	};
}

static inline void audits_done(struct audits *audits)
{
	report_done(&audits->report);
	buffer_done(&audits->text);
	tree_done(&audits->tree);
}

/* Runs the audit again. */
static inline void audits_run(struct audits *audits)
{
	report_done(&audits->report);
	audits->report = (struct report){ .now_ns = 0 };
	audits->waits = 0;
	CHECK_EQ(audit_run(&audits->options, &audits->report, NULL), 0);
}

static inline const char *audits_text_wide(struct audits *audits, unsigned int width)
{
	const struct terminal terminal = { .width = width, .wrap = width };

	audits->text.size = 0;
	audit_put_text(&audits->report, &terminal, &audits->text);
	buffer_u8(&audits->text, 0);
	CHECK(!buffer_failed(&audits->text));
	return (const char *)audits->text.data;
}

/* Returns the text for a terminal of 80 columns. */
static inline const char *audits_text(struct audits *audits)
{
	return audits_text_wide(audits, 80);
}

/* Returns the text without line breaks, to search for words. */
static inline const char *audits_line(struct audits *audits)
{
	return audits_text_wide(audits, 100000);
}

static inline const char *audits_json(struct audits *audits)
{
	audits->text.size = 0;
	audit_put_json(&audits->report, &audits->text);
	buffer_u8(&audits->text, 0);
	CHECK(!buffer_failed(&audits->text));
	return (const char *)audits->text.data;
}

static inline const struct finding *audits_find(const struct audits *audits, const char *kind)
{
	for (size_t i = 0; i < audits->report.findings.count; i++)
		if (strcmp(audits->report.findings.items[i].kind, kind) == 0)
			return &audits->report.findings.items[i];
	return NULL;
}

/* Checks that the audit has exactly this finding; NULL: none. */
static inline void audits_expect(struct audits *audits, const char *kind)
{
	audits_run(audits);
	for (size_t i = 0; i < audits->report.findings.count; i++)
		if (!kind || strcmp(audits->report.findings.items[i].kind, kind) != 0)
			CHECK_FAIL("found: %s", audits->report.findings.items[i].title.data);
	CHECK(!kind || audits_find(audits, kind));
}

/*
 * Sets the CPU times: CPU `busy` has `times`; all other CPUs idled for `idle` hundredths of a
 * second.
 */
static inline void put_cpus(const struct tree *tree, int count, int idle, int busy,
			    const char *times)
{
	_cleanup_(buffer_done) struct buffer text = { 0 };

	buffer_text(&text, "cpu  1 2 3 4\n");
	for (int cpu = 0; cpu < count; cpu++)
		if (cpu == busy)
			buffer_printf(&text, "cpu%d %s\n", cpu, times);
		else
			buffer_printf(&text, "cpu%d 100 0 100 %d 0 0 0 0 0 0\n", cpu, idle);
	buffer_u8(&text, 0);
	tree_put(tree, "/proc/stat", (char *)text.data);
}

/* A healthy host: all files that an audit reads, as on a kernel with cgroup version 2. */
static inline void put_usual(const struct tree *tree)
{
	put_cpus(tree, 4, 5000, -1, NULL);
	tree_put(tree, "/proc/self/mountinfo", MOUNT_V2);
	tree_put(tree, "/proc/self/status", "Name:\tperftape\nCapEff:\t000001ffffffffff\n");
	tree_put(tree, "/proc/uptime", "5000.00 4000.00\n");
	tree_put(tree, "/dev/kmsg", "");
	tree_put(tree, "/proc/vmstat",
		 "pgscan_direct 7\npgsteal_direct 7\noom_kill 0\n"
		 "allocstall_normal 9\ncompact_stall 3\npswpin 0\n");
	tree_put(tree, "/proc/pressure/memory",
		 "some avg10=99.00 avg60=0.25 avg300=0.00 total=1234\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=56\n");
	tree_put(tree, "/proc/pressure/io", "full avg10=0.00 avg60=1.00 avg300=0.00 total=9\n");
	tree_put(tree, "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	tree_put(tree, "/proc/sys/kernel/perf_cpu_time_max_percent", "25\n");
	tree_put(tree, "/proc/sys/kernel/perf_event_paranoid", "2\n");
	tree_put(tree, "/proc/sys/kernel/kptr_restrict", "1\n");
	tree_put(tree, "/proc/sys/kernel/perf_event_mlock_kb", "516\n");
	tree_put(tree, "/cg/cgroup.controllers", "cpu memory pids\n");
	tree_put(tree, "/cg/cgroup.stat",
		 "nr_descendants 120\nnr_subsys_memory 101\nnr_dying_descendants 40\n"
		 "nr_dying_subsys_memory 30\n");
	tree_folder(tree, "/cg/system.slice/ssh.service");
	tree_folder(tree, "/sys/class/net/eth0/device");
	tree_put(tree, "/sys/class/net/eth0/carrier_changes", "2\n");
	tree_put(tree, "/sys/class/net/eth0/queues/tx-0/tx_timeout", "0\n");
}

/* Moves only the time, for a tree that does not change. */
static inline void time_passes(struct audits *audits)
{
	put_cpus(&audits->tree, 4, 5500, -1, NULL);
}

static inline void add_point(struct tape *tape, const char *name, uint64_t second, int64_t value)
{
	uint32_t row = TABLE_NONE;

	for (uint32_t i = 0; i < tape->gauges.count; i++)
		if (strcmp(tape_string(tape, tape->gauges.items[i].name), name) == 0)
			row = i;
	if (row == TABLE_NONE)
		CHECK_EQ(tape_add_gauge(tape, name, &row), 0);
	CHECK_EQ(tape_add_point(tape, row, TAPES_PERF + second * NSEC_PER_SEC, value), 0);
}

static inline void run_with_store(struct audits *audits, struct tape *tape, unsigned int minutes)
{
	_cleanup_(tapes_store_done) struct tapes_store store;
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;

	tapes_store_init(&store);
	tapes_store_put(&store, tape);
	CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
	audits->options.reader = reader;
	audits->now_ns = TAPES_REALTIME + minutes * 60 * NSEC_PER_SEC;
	audits_run(audits);
	audits->options.reader = NULL;
}

static inline void put_link(const struct tree *tree, const char *name, unsigned int age_s)
{
	const struct timespec begin = { TAPES_REALTIME / NSEC_PER_SEC - age_s, 0 };
	const struct timespec times[] = { begin, begin };
	char full[512];

	tree_folder(tree, "/run/systemd/units");
	snprintf(full, sizeof(full), "%s/run/systemd/units/invocation:%s", tree->root, name);
	unlink(full);
	CHECK_EQ(symlink(age_s % 2 ? "11111111111111111111111111111111"
				   : "22222222222222222222222222222222",
			 full),
		 0);
	CHECK_EQ(utimensat(AT_FDCWD, full, times, AT_SYMLINK_NOFOLLOW), 0);
}
