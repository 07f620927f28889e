// SPDX-License-Identifier: GPL-2.0-only
/* Audits of several kinds of hosts find the faults of each host, and nothing else. */
#include <signal.h>
#include <sys/wait.h>

#include "tape/tape-events.h"
#include "tests/audits.h"
#include "tests/golden.h"
#include "tests/systemds.h"

#define MOUNT_V1 "32 24 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n"
#define MOUNT_HYBRID                                                          \
	"30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n"                  \
	"31 24 0:27 / /cg/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" \
	"32 24 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n"

static void test_healthy(void)
{
	_cleanup_(audits_done) struct audits audits;

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	audits_expect(&audits, NULL);
	check_golden("healthy.audit", audits_text(&audits));
}

/* Every line fits the terminal, and the text keeps all words. */
static void test_narrow(void)
{
	_cleanup_(audits_done) struct audits audits;
	unsigned int lines = 0;

	audits_init(&audits);
	put_usual(&audits.tree);
	audits_expect(&audits, NULL);
	for (const char *at = audits_text_wide(&audits, 60); *at; lines++) {
		size_t size = strcspn(at, "\n");

		CHECK(size <= 60);
		CHECK(lines ? strncmp(at, "          ", 10) == 0 ||
				      strncmp(at, "unread:   ", 10) == 0
			    : strncmp(at, "healthy:  ", 10) == 0);
		at += size + 1;
	}
	CHECK(lines > 4);
}

static void test_nothing(void)
{
	_cleanup_(audits_done) struct audits audits;

	audits_init(&audits);
	audits_expect(&audits, NULL);
	CHECK(strstr(audits_line(&audits), "nothing could be read"));
}

/*
 * Each kernel version counts memory cgroups in its own way. For each version, the test has a number
 * that is a finding, and a number that is not.
 */
static void test_memory_cgroups(void)
{
	static const struct {
		const char *what, *mounts, *cgroups, *controllers, *stat;
		bool found;
	} hosts[] = {
		{ "4.4, version 1", MOUNT_V1, "memory\t9\t68680\t1\n", NULL, NULL, true },
		{ "5.4, hybrid", MOUNT_HYBRID, "memory\t4\t2003\t1\n", "",
		  "nr_descendants 7\nnr_dying_descendants 99999\n", false },
		{ "5.4, hybrid, one more", MOUNT_HYBRID, "memory\t4\t2004\t1\n", "", "", true },
		{ "5.15, version 2", "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n", NULL,
		  "memory\n", "nr_descendants 239\nnr_dying_descendants 68440\n", true },
		{ "5.15, many in use", "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n", NULL,
		  "memory\n", "nr_descendants 9999\nnr_dying_descendants 39999\n", false },
		{ "6.12, others are dying", "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n",
		  "cpu\t0\t311\t1\n", "memory\n",
		  "nr_descendants 239\nnr_subsys_memory 201\nnr_dying_descendants 71000\n"
		  "nr_dying_subsys_memory 70\n",
		  false },
		{ "6.12", "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n", NULL, "memory\n",
		  "nr_descendants 239\nnr_subsys_memory 201\nnr_dying_descendants 71000\n"
		  "nr_dying_subsys_memory 70000\n",
		  true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		_cleanup_(audits_done) struct audits audits;

		audits_init(&audits);
		printf("# %s\n", hosts[i].what);
		tree_put(&audits.tree, "/proc/self/mountinfo", hosts[i].mounts);
		tree_folder(&audits.tree, "/cg/memory/system.slice/a.service");
		if (hosts[i].cgroups)
			tree_put(&audits.tree, "/proc/cgroups", hosts[i].cgroups);
		if (hosts[i].controllers) {
			tree_put(&audits.tree, "/cg/unified/cgroup.controllers",
				 hosts[i].controllers);
			tree_put(&audits.tree, "/cg/unified/cgroup.stat", hosts[i].stat);
		}
		audits_expect(&audits, hosts[i].found ? "zombie_memory_cgroups" : NULL);
	}
}

/* Adds one reading per minute. The first value is `from`, and each next one is higher by `rise`. */
static struct tape *add_levels(struct tape *tape, unsigned int minutes, int64_t from, double rise)
{
	for (unsigned int i = 0; i < minutes; i++)
		add_point(tape, "memory_cgroups/dying", i * 60, from + rise * i);
	return tape;
}

/* A leak at a low level shows in the slope of the recorded readings. */
static void test_slope(void)
{
	static const struct {
		double rise;
		unsigned int minutes;
		bool found;
		enum severity severity;
	} slopes[] = {
		{ 5.2, 70, true, SEVERITY_WARNING },  { 4.8, 70, false, SEVERITY_NOTICE },
		{ 5.2, 40, false, SEVERITY_NOTICE },  { 0.2, 250, true, SEVERITY_NOTICE },
		{ 0.2, 180, false, SEVERITY_NOTICE }, { 0, 300, false, SEVERITY_NOTICE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(slopes); i++) {
		_cleanup_(audits_done) struct audits audits;
		unsigned int minutes = slopes[i].minutes;
		const struct finding *finding;

		audits_init(&audits);
		put_usual(&audits.tree);
		audits.passes = time_passes;
		printf("# %.1f a minute over %u minutes\n", slopes[i].rise, minutes);
		run_with_store(&audits,
			       add_levels(tapes_new(0, minutes * 60), minutes, 20, slopes[i].rise),
			       minutes);
		finding = audits_find(&audits, "zombie_memory_cgroups");
		CHECK_EQ(finding != NULL, slopes[i].found);
		if (finding)
			CHECK_EQ(finding->severity, slopes[i].severity);
	}
}

/* A reboot ends a slope, so readings before and after it do not form one. */
static void test_slope_after_reboot(void)
{
	_cleanup_(audits_done) struct audits audits;
	struct tape *tape = tapes_new(0, 7200);

	audits_init(&audits);
	put_usual(&audits.tree);
	tree_put(&audits.tree, "/cg/cgroup.stat", "nr_descendants 9\nnr_dying_descendants 5000\n");
	for (unsigned int i = 0; i < 120; i++)
		add_point(tape, "memory_cgroups/dying", i * 60, i < 60 ? 90000 : 10 * (i - 60));
	run_with_store(&audits, tape, 120);
	CHECK(strstr(audits_line(&audits), "+590 dying within the last 59 min"));
}

static bool passes_two_over(void *context, const char *what)
{
	(void)context;
	return !what || (strcmp(what, "figures of cpu") != 0 && strcmp(what, "containers") != 0);
}

/* The audit skips a read that hangs, and reports it. */
static void test_hanging_reads(void)
{
	_cleanup_(audits_done) struct audits audits;

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = time_passes;
	audits.options.enter = passes_two_over;
	audits_run(&audits);
	CHECK_EQ(audits.report.findings.count, 1);
	CHECK_STR((char *)audits_find(&audits, "hanging_reads")->lines.data,
		  "figures of cpu: no answer within 10 s\ncontainers: no answer within 10 s");
	CHECK(strstr(audits_line(&audits), "what hangs (figures of cpu, containers)"));
	CHECK(strstr(audits_line(&audits), "cores (/proc/stat does not show the time of any CPU)"));
	CHECK(!strstr(audits_line(&audits), " containers ("));
	CHECK(strstr(audits_json(&audits), "\"reads\":[\"figures of cpu\",\"containers\"]"));
}

/* A command to paste runs only itself, whatever the name of a unit or device is. */
static void test_hostile_names(void)
{
	static const struct systemds_unit units[] = {
		{ "a'b$(reboot)\033[2J.service", "failed", "failed", 0 },
	};
	_cleanup_(audits_done) struct audits audits;
	_cleanup_(systemds_done) struct systemds systemd = { .pid = 0 };
	const char *text;

	audits_init(&audits);
	put_usual(&audits.tree);
	tree_folder(&audits.tree, "/sys/class/net/e;reboot/device");
	tree_put(&audits.tree, "/sys/class/net/e;reboot/queues/tx-0/tx_timeout", "3\n");
	systemds_start(&systemd, audits.tree.root, units, ARRAY_SIZE(units));
	audits_run(&audits);
	text = audits_text(&audits);
	CHECK(strstr(text, "systemctl status 'a'\\''b$(reboot)"));
	CHECK(strstr(text, "grep . /sys/class/net/'e;reboot'/queues"));
	CHECK(strstr(text, "-e 'e;reboot'"));
	CHECK(!strchr(text, 27));
	CHECK(strstr(audits_json(&audits), "\\u001b[2J"));
}

static void test_recorder(void)
{
	static const struct {
		struct audit_recorder recorder;
		bool found;
	} recorders[] = {
		{ { .there = true,
		    .running = true,
		    .frequency = 97,
		    .samples = 1000000,
		    .lost = 9 },
		  false },
		{ { .there = true }, true },
		{ { .there = true, .running = true, .stalled_ns = 6 * NSEC_PER_SEC }, true },
		{ { .there = true, .running = true, .behind_ns = 11 * NSEC_PER_SEC }, true },
		{ { .there = true, .running = true, .blocked = "no room" }, true },
		{ { .there = true,
		    .running = true,
		    .naming = "/a (module 1 of 2)",
		    .naming_ns = 11 * NSEC_PER_SEC },
		  true },
		{ { .there = true,
		    .running = true,
		    .naming = "/a (module 1 of 2)",
		    .naming_ns = 9 * NSEC_PER_SEC },
		  false },
		{ { .there = true, .running = true, .samples = 1000, .lost = 2 }, true },
		{ { .there = true, .running = true, .samples = 1000, .throttled = 10 }, true },
		{ { .there = true, .running = true, .samples = 1000, .throttled = 9 }, false },
		{ { .there = true,
		    .running = true,
		    .samples = 1000,
		    .throttled = 10,
		    .elapsed_ns = 11 * 3600 * NSEC_PER_SEC },
		  false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(recorders); i++) {
		_cleanup_(audits_done) struct audits audits;

		audits_init(&audits);
		put_usual(&audits.tree);
		audits.options.recorder = recorders[i].recorder;
		audits_expect(&audits, recorders[i].found ? "recorder" : NULL);
	}
}

/* kubelet is in the kernel on CPU 39, which serves the queue that timed out. */
static void story_passes(struct audits *audits)
{
	put_cpus(&audits->tree, 96, 5500, 39, "100 0 598 5002 0 0 0 0 0 0");
	put_link(&audits->tree, "ecs-agent.service", 2);
}

#define KUBELET(ticks)                                                                           \
	"1240 (kubelet) R 1 1 1 0 -1 0 0 0 0 0 " ticks " 0 0 20 0 40 0 99800 0 0 0 0 0 0 0 0 0 " \
	"0 0 0 0 0 0 17 39 0\n"

static void story_goes_on(struct audits *audits)
{
	tree_put(&audits->tree, "/proc/1240/task/1241/stat", KUBELET("501 1097"));
}

static void put_story(const struct tree *tree)
{
	char path[128];

	put_usual(tree);
	put_cpus(tree, 96, 5000, -1, NULL);
	tree_put(tree, "/proc/self/mountinfo", MOUNT_HYBRID);
	tree_put(tree, "/proc/cgroups",
		 "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
		 "memory\t4\t68680\t1\n");
	for (int i = 0; i < 238; i++) {
		snprintf(path, sizeof(path), "/cg/memory/system.slice/u%d", i);
		tree_folder(tree, path);
	}
	for (int i = 1; i <= 5; i++) {
		snprintf(path, sizeof(path), "/sys/class/net/eth0/queues/tx-%d/tx_timeout", i);
		tree_put(tree, path, i == 5 ? "2\n" : "0\n");
	}
	tree_put(tree, "/proc/interrupts",
		 "            CPU0       CPU1\n"
		 "  81:          5          7  PCI-MSI 81-edge  eth0-Tx-Rx-5\n");
	tree_put(tree, "/proc/irq/81/effective_affinity_list", "39\n");
	tree_put(tree, "/proc/1240/task/1241/stat", KUBELET("500 1000"));
	put_link(tree, "ecs-agent.service", 13);
}

static void add_dying(struct tape *tape, uint64_t second, const char *prefix, const char *count)
{
	static const char age[] = "699000", made[] = "dockerd", removed[] = "systemd";
	struct tape_event event = { .time_ns = TAPES_PERF + second * NSEC_PER_SEC };

	CHECK_EQ(tape_add_no_thread(tape, &event.thread), 0);
	CHECK_EQ(tape_add_event(tape, &event, TAPE_EVENT_DYING), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_PREFIX, prefix, strlen(prefix)), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_COUNT, count, strlen(count)), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_OLDEST, age, strlen(age)), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_MADE_BY, made, strlen(made)), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_REMOVED_BY, removed, strlen(removed)), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_COUNTED, 700000), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_UNSURE, 3), 0);
}

/*
 * The recorder's last count names the cgroup that leaks. The audit dates an old count, and does not
 * report an ended leak.
 */
static void test_who_leaks(void)
{
	static const struct {
		unsigned int told_s, recorded_to_s, now_minutes;
		const char *says, *not ;
	} cases[] = {
		{ 3570, 3600, 60, "under /docker/*: 68,301 dying", "as of the recorder" },
		{ 3570, 3600, 120,
		  "as of the recorder's last event, 1 h 0 min ago:", "the recorder saw" },
		{ 600, 3600, 60, "the recorder saw 7 under /now", "under /docker" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(audits_done) struct audits audits;
		struct tape *tape = tapes_new(0, 3600);
		const char *text;

		audits_init(&audits);
		put_usual(&audits.tree);
		tree_put(&audits.tree, "/cg/cgroup.stat",
			 "nr_descendants 239\nnr_dying_descendants 68440\n");
		audits.options.recorder.dying = "7 under /now";
		add_point(tape, "memory_cgroups/dying", cases[i].recorded_to_s - 1, 68440);
		add_dying(tape, cases[i].told_s, "/docker/*", "68301");
		run_with_store(&audits, tape, cases[i].now_minutes);
		text = audits_text(&audits);
		CHECK(strstr(text, cases[i].says));
		CHECK(!strstr(text, cases[i].not ));
	}
}

/*
 * The events of one count lie within a second. A later count replaces them, and after the wall
 * clock was set back, an event may seem to be earlier.
 */
static void test_leaks_of_one_count(void)
{
	static const struct {
		unsigned int second_s, back_s;
		bool has_first, has_second;
	} cases[] = { { 3571, 0, true, true },
		      { 3572, 0, false, true },
		      { 3572, 3, true, true },
		      { 3572, 5, true, false } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(audits_done) struct audits audits;
		struct tape *tape = tapes_new(0, 3600);
		const char *text;

		audits_init(&audits);
		put_usual(&audits.tree);
		tree_put(&audits.tree, "/cg/cgroup.stat",
			 "nr_descendants 239\nnr_dying_descendants 68440\n");
		tapes_anchor(tape, TAPES_PERF + 3570500 * NSEC_PER_MSEC,
			     TAPES_REALTIME + 3570500 * NSEC_PER_MSEC -
				     cases[i].back_s * NSEC_PER_SEC);
		add_point(tape, "memory_cgroups/dying", 3599, 68440);
		add_dying(tape, 3570, "/docker/*", "60000");
		add_dying(tape, cases[i].second_s, "/user.slice", "8301");
		run_with_store(&audits, tape, 60);
		text = audits_text(&audits);
		CHECK_EQ(!!strstr(text, "under /docker/*: 60,000"), cases[i].has_first);
		CHECK_EQ(!!strstr(text, "under /user.slice: 8,301"), cases[i].has_second);
	}
}

static void test_story(void)
{
	static const struct systemds_unit units[] = {
		{ "ecs-agent.service", "activating", "auto-restart", 68412 },
	};
	_cleanup_(audits_done) struct audits audits;
	_cleanup_(systemds_done) struct systemds systemd = { .pid = 0 };
	struct tape *tape = tapes_new(0, 6 * 3600);

	audits_init(&audits);
	put_story(&audits.tree);
	tree_put(&audits.tree, "/proc/uptime", "7776000.00 4000.00\n");
	audits.passes = story_passes;
	audits.passes_later = story_goes_on;
	audits.options.recorder = (struct audit_recorder){ .there = true, .running = true };
	for (unsigned int i = 0; i <= 359; i++) {
		add_point(tape, "memory_cgroups/dying", i * 60, 68140 + i * 300 / 359);
		add_point(tape, "unit/ecs-agent.service/starts", i * 60, i);
		add_point(tape, "net/eth0/tx5_timeouts", i * 60, i > 200 ? 2 : 1);
	}
	add_dying(tape, 6 * 3600 - 90, "/docker/*", "1");
	add_dying(tape, 6 * 3600 - 30, "/user.slice", "12");
	add_dying(tape, 6 * 3600 - 30, "/docker/*", "68301");
	systemds_start(&systemd, audits.tree.root, units, ARRAY_SIZE(units));
	run_with_store(&audits, tape, 360);
	check_golden("story.audit", audits_text(&audits));
	check_golden("story.audit.json", audits_json(&audits));
}

CHECK_MAIN({ "a healthy host has no findings", test_healthy },
	   { "a narrow terminal loses no words", test_narrow },
	   { "a folder without a host is refused", test_nothing },
	   { "many dead memory cgroups are a finding on each kernel", test_memory_cgroups },
	   { "growing memory cgroups are a finding", test_slope },
	   { "a reboot ends a slope", test_slope_after_reboot },
	   { "hostile names of units do no harm", test_hostile_names },
	   { "the recorder's state is a finding", test_recorder },
	   { "the cgroup that leaks is named", test_who_leaks },
	   { "all cgroups of one count are named", test_leaks_of_one_count },
	   { "reads that hang are reported", test_hanging_reads },
	   { "kubelet on the CPU of a queue is found", test_story })
