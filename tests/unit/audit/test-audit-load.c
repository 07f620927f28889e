// SPDX-License-Identifier: GPL-2.0-only
/* Audits of busy hosts: memory, CPUs, network queues, and the limits of sampling. */
#include "tests/audits.h"

static void memory_is_short(struct audits *audits)
{
	time_passes(audits);
	tree_put(&audits->tree, "/proc/vmstat",
		 "pgscan_direct 5007\npgsteal_direct 107\noom_kill 2\n"
		 "allocstall_normal 59\ncompact_stall 52\npswpin 499\n");
	tree_put(&audits->tree, "/proc/pressure/memory",
		 "some avg10=0.00 avg60=22.00 avg300=0.00 total=2501234\n"
		 "full avg10=0.00 avg60=4.90 avg300=0.00 total=2500056\n");
}

static void test_memory_pressure(void)
{
	_cleanup_(audits_done) struct audits audits;

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = memory_is_short;
	audits_run(&audits);
	CHECK(audits_find(&audits, "direct_reclaim"));
	CHECK(strstr(audits_line(&audits), "tasks scanned 5000 pages and freed 100"));
	CHECK(audits_find(&audits, "oom_kills"));
	/* 49 stalls in five seconds, and 499 pages, are below the limits */
	CHECK(!audits_find(&audits, "compaction_stalls"));
	CHECK(!audits_find(&audits, "swapping"));
	CHECK_STR((char *)audits_find(&audits, "pressure")->lines.data,
		  "memory some: 50.0 % over 5.0 s, 22.0 % over the last minute; limit 15.0 %");
	CHECK_EQ(audits.report.findings.count, 3);
	/* memory that was short a minute ago is not a finding at present */
	audits.passes = time_passes;
	audits_expect(&audits, NULL);
}

/*
 * The recorder reads the counter every ten seconds. A kill that follows its last reading may still
 * have happened before the audit began.
 */
static void test_killed_just_before(void)
{
	for (int64_t recorded = 3; recorded <= 5; recorded += 2) {
		_cleanup_(audits_done) struct audits audits;
		_cleanup_(tapes_store_done) struct tapes_store store;
		_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
		struct tape *tape = tapes_new(0, 60);
		uint32_t row;

		audits_init(&audits);
		put_usual(&audits.tree);
		tree_put(&audits.tree, "/proc/vmstat",
			 "pgscan_direct 7\npgsteal_direct 7\noom_kill 5\n");
		CHECK_EQ(tape_add_gauge(tape, "vmstat/oom_kill", &row), 0);
		for (uint64_t i = 0; i < 5; i++)
			CHECK_EQ(tape_add_point(tape, row, TAPES_PERF + i * 10 * NSEC_PER_SEC,
						recorded),
				 0);
		tapes_store_init(&store);
		tapes_store_put(&store, tape);
		CHECK_EQ(store_reader_open(store.path, &reader, NULL), 0);
		audits.options.reader = reader;
		audits.now_ns = TAPES_REALTIME + 45 * NSEC_PER_SEC;
		audits_run(&audits);
		CHECK_EQ(audits_find(&audits, "oom_kills") != NULL, recorded == 3);
		if (recorded == 3)
			CHECK(strstr(audits_line(&audits),
				     "2 since the last recorded reading, 10 s ago"));
	}
}

static void core_is_taken(struct audits *audits, const char *times)
{
	put_cpus(&audits->tree, 4, 5500, 2, times);
}

static void kernel_takes_core(struct audits *audits)
{
	core_is_taken(audits, "110 0 585 5005 0 0 0 0 0 0");
}

static void user_takes_core(struct audits *audits)
{
	core_is_taken(audits, "600 0 100 5000 0 0 0 0 0 0");
}

static void guests_take_core(struct audits *audits)
{
	core_is_taken(audits, "100 0 100 5000 0 0 0 500 0 0");
}

static void guests_take_half_a_core(struct audits *audits)
{
	core_is_taken(audits, "105 0 355 5000 0 0 0 245 0 0");
}

static void check_core(void (*passes)(struct audits *audits), const char *kind,
		       enum severity severity)
{
	_cleanup_(audits_done) struct audits audits;

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = passes;
	audits_expect(&audits, kind);
	if (kind)
		CHECK_EQ(audits_find(&audits, kind)->severity, severity);
}

/*
 * One core is busy in the kernel and another in user mode. The audit must not blame the kernel for
 * the second.
 */
static void two_cores_are_taken(struct audits *audits)
{
	tree_put(&audits->tree, "/proc/stat",
		 "cpu0 600 0 100 5000 0 0 0 0 0 0\ncpu1 100 0 100 5500 0 0 0 0 0 0\n"
		 "cpu2 110 0 585 5005 0 0 0 0 0 0\ncpu3 100 0 100 5500 0 0 0 0 0 0\n");
}

static void test_two_cores(void)
{
	_cleanup_(audits_done) struct audits audits;

	audits_init(&audits);
	put_usual(&audits.tree);
	audits.passes = two_cores_are_taken;
	audits_expect(&audits, "saturated_cores");
	CHECK_STR((char *)audits_find(&audits, "saturated_cores")->title.data,
		  "2 of 4 CPUs are saturated, 1 of them in the kernel; all CPUs together are "
		  "49.8 % busy");
}

static void test_cores(void)
{
	check_core(kernel_takes_core, "saturated_cores", SEVERITY_CRITICAL);
	check_core(user_takes_core, "saturated_cores", SEVERITY_NOTICE);
	check_core(guests_take_core, NULL, SEVERITY_NOTICE);
	check_core(guests_take_half_a_core, "saturated_cores", SEVERITY_CRITICAL);
}

static void test_queues(void)
{
	_cleanup_(audits_done) struct audits audits;

	audits_init(&audits);
	put_usual(&audits.tree);
	tree_put(&audits.tree, "/sys/class/net/eth0/queues/tx-1/tx_timeout", "3\n");
	audits_expect(&audits, "queue_timeouts");
	CHECK_EQ(audits.report.findings.items[0].severity, SEVERITY_WARNING);
	CHECK_STR((char *)audits.report.findings.items[0].lines.data,
		  "eth0 transmit queue 1: 3 times since the driver was loaded");
}

static void test_sampling(void)
{
	static const struct {
		const char *path, *value;
		enum severity severity;
	} settings[] = {
		{ "/proc/sys/kernel/perf_event_max_sample_rate", "96\n", SEVERITY_CRITICAL },
		{ "/proc/sys/kernel/perf_event_max_sample_rate", "969\n", SEVERITY_WARNING },
		{ "/proc/sys/kernel/perf_cpu_time_max_percent", "1\n", SEVERITY_NOTICE },
		{ "/proc/sys/kernel/kptr_restrict", "2\n", SEVERITY_WARNING },
		{ "/proc/self/status", "CapEff:\t0000000000000000\n", SEVERITY_NOTICE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		_cleanup_(audits_done) struct audits audits;

		audits_init(&audits);
		put_usual(&audits.tree);
		tree_put(&audits.tree, settings[i].path, settings[i].value);
		audits_expect(&audits, "sampling_limits");
		CHECK_EQ(audits.report.findings.items[0].severity, settings[i].severity);
	}
}

/*
 * The audit of a partial copy names the file that is absent. It lacks a finding about that file,
 * and does not mention the kernel of the copy.
 */
static void test_partial_copies(void)
{
	static const struct {
		const char *away, *says;
	} copies[] = {
		{ "/proc/self/mountinfo", "memory cgroups (/proc/self/mountinfo is not in the "
					  "copy)" },
		{ "/proc/self/mountinfo", "containers (/proc/self/mountinfo is not in the copy)" },
		{ "/cg/cgroup.stat", "memory cgroups (/cg/cgroup.stat is not in the copy)" },
		{ "/cg/cgroup.controllers", "memory cgroups (/cg/cgroup.controllers is not in "
					    "the copy)" },
		{ "/cg", "containers (/cg is not in the copy)" },
		{ "/proc/vmstat", "reclaim (/proc/vmstat is not in the copy)" },
		{ "/proc/stat", "cores (/proc/stat is not in the copy)" },
		{ "/proc/pressure", "pressure (/proc/pressure/memory is not in the copy)" },
		{ "/proc/pressure/io", "further pressure (/proc/pressure lacks disks)" },
		{ "/proc/pressure/memory", ", pressure (disks), " },
		{ "/sys/class/net", "network queues (/sys/class/net is not in the copy)" },
		{ "/proc/sys/kernel/perf_event_max_sample_rate",
		  "sampling limits (/proc/sys/kernel/perf_event_max_sample_rate is not in "
		  "the copy)" },
		{ "/proc/sys/kernel/kptr_restrict",
		  "further limits (kptr_restrict of /proc/sys/kernel)" },
		{ "/proc/self/status", "sampling limits (100000 samples per second allowed)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
		_cleanup_(audits_done) struct audits audits;
		char from[4096], to[4096];

		audits_init(&audits);
		put_usual(&audits.tree);
		snprintf(from, sizeof(from), "%s%s", audits.tree.root, copies[i].away);
		snprintf(to, sizeof(to), "%s/away", audits.tree.root);
		CHECK_EQ(rename(from, to), 0);
		audits_expect(&audits, NULL);
		if (!strstr(audits_line(&audits), copies[i].says))
			CHECK_FAIL("without %s: %s", copies[i].away, audits_line(&audits));
	}
}

#define HEX63 "f7f6ad54a1f2a1c3b27e5d81a0ac5a30f7f6ad54a1f2a1c3b27e5d81a0ac5a3"

static void containers_start(struct audits *audits)
{
	tree_folder(&audits->tree, "/cg/docker/1" HEX63);
	tree_folder(&audits->tree, "/cg/docker/2" HEX63);
}

static const char *advice(struct audits *audits, const char *kind)
{
	audits_expect(audits, kind);
	return (char *)audits_find(audits, kind)->confirm.data;
}

/* The audit advises only commands that fit the host and its findings. */
static void test_advice(void)
{
	_cleanup_(audits_done) struct audits audits;
	const char *text;

	audits_init(&audits);
	put_usual(&audits.tree);
	tree_folder(&audits.tree, "/cg/docker/0" HEX63);
	audits.passes = containers_start;
	text = advice(&audits, "short_lived_containers");
	CHECK(strstr(text, "find /cg -path '*/docker/*' -printf") && strstr(text, "docker ps"));
	CHECK(!strstr(text, "crictl"));
	audits.passes = NULL;
	audits.options.recorder = (struct audit_recorder){ .there = true, .store = "/a b" };
	CHECK_STR(advice(&audits, "recorder"), "perftape status --store '/a b'");
	audits.options.recorder.store = NULL;
	CHECK_STR(advice(&audits, "recorder"), "perftape status");
	tree_folder(&audits.tree, "/run/systemd/system");
	CHECK_STR(advice(&audits, "recorder"), "perftape status\nsystemctl status perftape");
}

/* Nothing measures the time of offline cores, so the audit says that they are offline. */
static void test_offline_cores(void)
{
	static const char *const cases[][2] = {
		{ "0-3,6-7\n", "cores (4 of 6 CPUs online, " },
		{ "0-3\n", "cores (4 CPUs, " },
		{ "what\n", "cores (4 CPUs, " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(audits_done) struct audits audits;

		audits_init(&audits);
		put_usual(&audits.tree);
		audits.passes = time_passes;
		tree_put(&audits.tree, "/sys/devices/system/cpu/present", cases[i][0]);
		audits_run(&audits);
		CHECK(strstr(audits_line(&audits), cases[i][1]));
	}
}

CHECK_MAIN({ "offline cores are reported", test_offline_cores },
	   { "a kill just before the audit is a finding", test_killed_just_before },
	   { "short memory is a finding", test_memory_pressure },
	   { "a busy core is a finding", test_cores },
	   { "two saturated cores are one finding", test_two_cores },
	   { "queues that timed out are a finding", test_queues },
	   { "limits of sampling are findings", test_sampling },
	   { "a partial copy names its absent file", test_partial_copies },
	   { "advice fits the host", test_advice })
