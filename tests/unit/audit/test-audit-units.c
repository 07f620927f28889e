// SPDX-License-Identifier: GPL-2.0-only
/* Audits of hosts whose units and containers start, fail and loop. */
#include "tests/audits.h"
#include "tests/systemds.h"

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/*
 * Three units: a service that has run for an hour, one that started once, and one that a timer
 * starts.
 */
static void test_units_that_are_well(void)
{
	static const struct systemds_unit units[] = { { "quiet.service", "active", "running", 0 } };
	_cleanup_(audits_done) struct audits audits;
	_cleanup_(systemds_done) struct systemds systemd = { .pid = 0 };
	struct tape *tape = tapes_new(0, 3600);

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	put_link(&audits.tree, "ssh.service", 3600);
	put_link(&audits.tree, "quiet.service", 3);
	put_link(&audits.tree, "sysstat.timer", 9999);
	put_link(&audits.tree, "dev-sda.device", 9999);
	put_link(&audits.tree, "sysstat.service", 5);
	for (unsigned int i = 0; i < 60; i++) {
		add_point(tape, "unit/sysstat.service/starts", i * 60, i);
		add_point(tape, "unit/ssh.service/starts", i * 60, i > 30 ? 2 : 0);
		add_point(tape, "unit/quiet.service/starts", i * 60, i);
		add_point(tape, "unit/user.slice/user@0.service/a.service/starts", i * 60, i);
	}
	/* systemd itself did not restart these units */
	systemds_start(&systemd, audits.tree.root, units, ARRAY_SIZE(units));
	run_with_store(&audits, tape, 60);
	CHECK_EQ(audits.report.findings.count, 0);
	CHECK(strstr(audits_line(&audits), " units (4),"));
}

/* systemd counts the restarts, and a recording does not exist. For one unit, systemd gave up. */
static void test_units_by_systemd(void)
{
	static const struct systemds_unit units[] = {
		{ "loop.service", "activating", "auto-restart", 8412 },
		{ "again.service", "active", "running", 5 },
		/* three restarts are not a loop, even of a young service */
		{ "thrice.service", "active", "running", 3 },
		{ "once.service", "active", "running", 2 },
		{ "gone.service", "failed", "failed", 5 },
	};
	_cleanup_(audits_done) struct audits audits;
	_cleanup_(systemds_done) struct systemds systemd = { .pid = 0 };

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	put_link(&audits.tree, "again.service", 7);
	put_link(&audits.tree, "once.service", 7);
	put_link(&audits.tree, "thrice.service", 7);
	systemds_start(&systemd, audits.tree.root, units, ARRAY_SIZE(units));
	audits_run(&audits);
	CHECK_EQ(audits.report.findings.count, 2);
	CHECK_STR((char *)audits_find(&audits, "crash_looping_units")->lines.data,
		  "again.service: 5 restarts by systemd in at most 1 h 23 min, runs for 12 s\n"
		  "loop.service: 8,412 restarts by systemd in at most 1 h 23 min, waits for its "
		  "restart");
	CHECK_STR((char *)audits_find(&audits, "failed_units")->title.data,
		  "gone.service has failed");
}

/*
 * Returns whether a service is a finding if the last hour has `recorded` starts. systemd counted
 * three restarts, or does not answer.
 */
static bool loops_after(int recorded, bool answers)
{
	static const struct systemds_unit units[] = { { "thrice.service", "active", "running",
							3 } };
	_cleanup_(audits_done) struct audits audits;
	_cleanup_(systemds_done) struct systemds systemd = { .pid = 0 };
	struct tape *tape = tapes_new(0, 3600);

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	put_link(&audits.tree, "thrice.service", 3600);
	for (int i = 0; i < 60; i++)
		add_point(tape, "unit/thrice.service/starts", i * 60, MIN(i / 10, recorded));
	if (answers)
		systemds_start(&systemd, audits.tree.root, units, ARRAY_SIZE(units));
	run_with_store(&audits, tape, 60);
	return audits.report.findings.count;
}

/* Three starts within an hour are a loop. */
static void test_units_in_an_hour(void)
{
	CHECK(loops_after(3, true) && loops_after(3, false));
	CHECK(!loops_after(2, true) && !loops_after(2, false));
}

/* systemd lists the units and then hangs. The audit waits for one answer, not for one per unit. */
static void test_units_by_systemd_that_hangs(void)
{
	static const struct systemds_unit units[] = {
		{ "a.service", "active", "running", SYSTEMDS_SILENT },
		{ "b.service", "active", "running", SYSTEMDS_SILENT },
		{ "c.service", "active", "running", SYSTEMDS_SILENT },
		{ "d.service", "active", "running", SYSTEMDS_SILENT },
		{ "gone.service", "failed", "failed", 5 },
	};
	_cleanup_(audits_done) struct audits audits;
	_cleanup_(systemds_done) struct systemds systemd = { .pid = 0 };
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	for (size_t i = 0; i < 4; i++)
		put_link(&audits.tree, units[i].name, 7);
	systemds_start(&systemd, audits.tree.root, units, ARRAY_SIZE(units));
	audits_run(&audits);
	CHECK_EQ(audits.report.findings.count, 1);
	CHECK(audits_find(&audits, "failed_units"));
	CHECK_EQ(clock_ns(CLOCK_MONOTONIC) - begin_ns, SYSTEMDS_SILENCE_NS);
}

static void unit_starts_again(struct audits *audits)
{
	time_passes(audits);
	put_link(&audits->tree, "bad.service", 2);
}

/* systemd does not answer, so the audit uses the recording and its own observations. */
static void test_units_by_themselves(void)
{
	_cleanup_(audits_done) struct audits audits;
	struct tape *tape = tapes_new(0, 3600);

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = unit_starts_again;
	put_link(&audits.tree, "bad.service", 61);
	/* the recorder's gauges show one start per minute; the trace events show each start */
	for (unsigned int i = 0; i < 60; i++) {
		add_point(tape, "unit/bad.service/made", i * 60, 3 * i);
		add_point(tape, "unit/bad.service/starts", i * 60, i / 2);
	}
	run_with_store(&audits, tape, 60);
	CHECK_EQ(audits.report.findings.count, 1);
	CHECK(strstr(audits_line(&audits), "bad.service: at least 177 starts recorded within the"));
	CHECK(strstr(audits_line(&audits), "unread:   failed units"));
}

/* If a loop has ended, the audit reports it as past, with the time of its end. */
static void test_loop_that_ended(void)
{
	_cleanup_(audits_done) struct audits audits;
	struct tape *tape = tapes_new(0, 3600);

	audits_init(&audits);
	put_usual(&audits.tree);
	for (unsigned int i = 0; i < 10; i++)
		add_point(tape, "unit/bad.service/starts", i * 60, i);
	for (unsigned int i = 0; i < 10; i++)
		add_point(tape, "containers/docker/*/made", i * 60, i);
	run_with_store(&audits, tape, 30);
	CHECK(strstr(audits_line(&audits), "bad.service was started again and again"));
	CHECK(strstr(audits_line(&audits), "docker/* were started again and again"));
	CHECK_STR((char *)audits_find(&audits, "crash_looping_units")->lines.data,
		  "bad.service: at least 9 starts recorded within the last 30 min 5 s, the last of "
		  "them 21 min 5 s ago");
	CHECK(strstr(audits_json(&audits), "\"last_start_s\":1265,"));
}

static void put_container(const struct tree *tree, const char *id, const char *pid)
{
	char path[256];

	snprintf(path, sizeof(path), "/cg/docker/%s/cgroup.procs", id);
	tree_put(tree, path, pid);
}

/*
 * 5000 s after the boot, there are a container that is two seconds old, and a process outside of
 * containers.
 */
static void test_containers(void)
{
	_cleanup_(audits_done) struct audits audits;
	struct tape *tape = tapes_new(0, 3600);
	const struct finding *finding;

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	put_container(&audits.tree, ID_A, "70\n71\n72\n");
	tree_put(&audits.tree, "/proc/70/stat",
		 "70 (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 499800 0\n");
	tree_put(&audits.tree, "/proc/71/stat",
		 "71 (c) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 499900 0\n");
	tree_put(&audits.tree, "/proc/72/stat",
		 "72 (d) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 999999999999999999 0\n");
	for (unsigned int i = 0; i < 60; i++)
		add_point(tape, "containers/docker/*/starts", i * 60, i / 5);
	run_with_store(&audits, tape, 60);
	CHECK_EQ(audits.report.findings.count, 1);
	finding = audits_find(&audits, "short_lived_containers");
	CHECK_STR((char *)finding->lines.data,
		  "docker/*: 0 started within 5.0 s, at least 11 "
		  "recorded within the last 1 h 0 min, the "
		  "last of them 5 min 5 s ago; 1 run, the youngest for 2 s");
	/* a container that keeps running is normal on a batch host */
	tree_put(&audits.tree, "/proc/70/stat",
		 "70 (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99800 0\n");
	tape = tapes_new(0, 3600);
	for (unsigned int i = 0; i < 60; i++)
		add_point(tape, "containers/docker/*/starts", i * 60, i / 5);
	run_with_store(&audits, tape, 60);
	CHECK_EQ(audits.report.findings.count, 0);
}

CHECK_MAIN({ "a loop that ended is reported as past", test_loop_that_ended },
	   { "healthy units are not a finding", test_units_that_are_well },
	   { "restarts that systemd counted are a finding", test_units_by_systemd },
	   { "three recorded starts in an hour are a loop", test_units_in_an_hour },
	   { "a systemd that hangs costs one wait", test_units_by_systemd_that_hangs },
	   { "starts that were seen or recorded are a finding", test_units_by_themselves },
	   { "containers that start again and again are a finding", test_containers })
