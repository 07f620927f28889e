// SPDX-License-Identifier: GPL-2.0-only
/* Each rule of an explanation, from evidence that is written by hand. */
#include <math.h>

#include "base/clock.h"
#include "query/explain/code-kinds.h"
#include "query/explain/incident-words.h"
#include "query/explain/rules.h"
#include "query/explain/stall-grid.h"
#include "tests/check.h"

static uint32_t name(struct evidence *evidence, const char *text)
{
	uint32_t id;

	CHECK_EQ(evidence_add_name(evidence, text, &id), 0);
	return id;
}

/* Adds a full CPU that stands out. */
static struct evidence_core *make_core(struct evidence *evidence)
{
	struct evidence_core *core = &evidence->cores[evidence->core_count++];

	*core = (struct evidence_core){
		.cpu = 39,
		.full = true,
		.from_ns = 100 * NSEC_PER_SEC,
		.to_ns = 106 * NSEC_PER_SEC,
		.busy = 0.99,
		.threads = { { .pid = 1240,
			       .tid = 1262,
			       .comm = name(evidence, "kubelet"),
			       .share = 0.98,
			       .row.chance = { 59, 0, 400, 1 / 60.0 } } },
		.thread_count = 1,
		.leaf = name(evidence, "some_function"),
		.leaf_row.chance = { 59, 0, 400, 1 / 60.0 },
		.full_chance = { 1000, 0, 2, 2 / 1001.0 },
		.compared = true,
	};
	evidence->cpus = 96;
	evidence->full_cpus++;
	return core;
}

/* Returns the evidence of a host without a full CPU, and with figures that are unknown. */
static struct evidence unknown_host(void)
{
	return (struct evidence){
		.host = { .tracked = NAN,
			  .in_use = NAN,
			  .dying = NAN,
			  .stalls = { NAN, NAN },
			  .steal_most = NAN,
			  .steal_usual = NAN },
		.incident.napi_scheduled = -1,
		.samples = 1000,
		.machine.chance.p = 1,
	};
}

static struct verdicts judge(struct evidence *evidence)
{
	struct verdicts verdicts;

	verdicts_judge(evidence, &verdicts);
	CHECK(verdicts.count);
	return verdicts;
}

static void check_first(struct evidence *evidence, const char *kind, const char *confidence)
{
	struct verdicts verdicts = judge(evidence);

	CHECK_STR(verdicts.list[0].kind, kind);
	CHECK_STR(confidence_name(verdicts.list[0].confidence), confidence);
	CHECK(*verdicts.list[0].evidence && *verdicts.list[0].next);
	evidence_done(evidence);
}

static void test_zombies(void)
{
	struct evidence evidence = unknown_host();
	struct evidence_core *core = make_core(&evidence);

	core->kernel = 0.98;
	core->code[CODE_CGROUP_WALK] = core->leaf_code[CODE_CGROUP_WALK] = 0.9;
	evidence.host.tracked = 68680;
	evidence.host.in_use = 240;
	evidence.host.dying = 68440;
	check_first(&evidence, "zombie_memory_cgroups", "very likely");
}

static void test_walk_without_gauges_is_possible(void)
{
	struct evidence evidence = unknown_host();
	struct evidence_core *core = make_core(&evidence);

	core->kernel = 0.5;
	core->code[CODE_CGROUP_WALK] = core->leaf_code[CODE_CGROUP_WALK] = 0.9;
	check_first(&evidence, "zombie_memory_cgroups", "possible");
}

/* Without zombies, the same path is a thread in a kernel loop. */
static void test_walk_without_zombies(void)
{
	struct evidence evidence = unknown_host();
	struct evidence_core *core = make_core(&evidence);

	core->kernel = 0.98;
	core->code[CODE_CGROUP_WALK] = core->leaf_code[CODE_CGROUP_WALK] = 0.9;
	evidence.host.tracked = 300;
	evidence.host.in_use = 240;
	evidence.host.dying = 60;
	check_first(&evidence, "kernel_loop", "very likely");
}

static void test_reclaim(void)
{
	struct evidence evidence = unknown_host();
	struct evidence_core *core = make_core(&evidence);

	core->kernel = 0.98;
	core->code[CODE_DIRECT_RECLAIM] = core->code[CODE_RECLAIM] = 0.95;
	check_first(&evidence, "direct_reclaim", "very likely");
}

static void test_interrupts(void)
{
	struct evidence evidence = unknown_host();

	make_core(&evidence)->irq = 0.9;
	check_first(&evidence, "interrupt_storm", "very likely");
}

static void test_softirqs(void)
{
	struct evidence evidence = unknown_host();

	make_core(&evidence)->softirq = 0.9;
	check_first(&evidence, "softirq_flood", "very likely");
}

static void test_realtime_needs_a_victim(void)
{
	struct evidence evidence = unknown_host();
	struct evidence_core *core = make_core(&evidence);

	core->user = 0.97;
	evidence.victims[0] = (struct evidence_victim){ .name = name(&evidence, "ksoftirqd/39"),
							.wait_ns = 5 * NSEC_PER_SEC,
							.from_ns = 101 * NSEC_PER_SEC,
							.to_ns = 106 * NSEC_PER_SEC,
							.has_cpu = true,
							.cpu = 39 };
	evidence.victim_count = 1;
	check_first(&evidence, "realtime_hog", "very likely");
	evidence = unknown_host();
	make_core(&evidence)->user = 0.97;
	check_first(&evidence, "busy_thread", "likely");
}

static void test_host_figures(void)
{
	struct evidence evidence = unknown_host();

	evidence.host.steal_most = 0.4;
	evidence.host.steal_usual = 0.01;
	check_first(&evidence, "hypervisor_steal", "very likely");
	evidence = unknown_host();
	evidence.host.throttled[0] =
		(struct evidence_named){ name(&evidence, "/kubepods/pod7"), { 0.3, 0.01 }, false };
	evidence.host.throttled_count = 1;
	check_first(&evidence, "quota_throttling", "likely");
	evidence = unknown_host();
	evidence.host.started[0] =
		(struct evidence_named){ name(&evidence, "ecs.service"), { 60, NAN }, false };
	evidence.host.started_count = 1;
	evidence.host.gauges_ns = 3600 * NSEC_PER_SEC;
	check_first(&evidence, "crash_loop", "likely");
}

/* A timer that starts a job every ten minutes is not a loop. */
static void test_timer_is_no_crash_loop(void)
{
	struct evidence evidence = unknown_host();

	evidence.host.started[0] =
		(struct evidence_named){ name(&evidence, "sysstat.service"), { 6, NAN }, false };
	evidence.host.started_count = 1;
	evidence.host.gauges_ns = 3600 * NSEC_PER_SEC;
	check_first(&evidence, "nothing_unusual", "likely");
}

static void test_machine_and_hidden(void)
{
	struct evidence evidence = unknown_host();

	evidence.cpus = 96;
	evidence.machine =
		(struct evidence_row){ .now = 94, .usual = 20, .chance = { 59, 0, 400, 1 / 60.0 } };
	check_first(&evidence, "all_cpus_busy", "very likely");
	evidence = unknown_host();
	evidence.hidden = (struct evidence_hidden){ true, 3,
						    0,	  6 * NSEC_PER_SEC,
						    0.97, { 1000, 0, 2, 2 / 1001.0 } };
	check_first(&evidence, "hidden_code", "very likely");
}

static void test_device(void)
{
	struct evidence evidence = unknown_host();

	snprintf(evidence.incident.kind, sizeof(evidence.incident.kind), "ena.tx_stall");
	evidence.incident.napi_scheduled = 0;
	check_first(&evidence, "device_or_interrupt", "likely");
}

static void test_nothing_recorded(void)
{
	struct evidence evidence = unknown_host();

	evidence.samples = 0;
	evidence.incident.napi_scheduled = 0;
	snprintf(evidence.incident.kind, sizeof(evidence.incident.kind), "ena.tx_stall");
	check_first(&evidence, "not_recorded", "likely");
}

/* The next step depends on whether samples were taken. */
static void test_damaged(void)
{
	struct evidence evidence = unknown_host();
	struct coverage_gap gap = { .from_ns = 50, .to_ns = 150, .unread = true };
	struct verdicts verdicts;

	evidence.samples = 0;
	evidence.stall_from_ns = 100;
	evidence.stall_to_ns = 200;
	verdicts_judge(&evidence, &verdicts);
	CHECK_STR(verdicts.list[0].next, "perftape segments lists what is recorded");
	CHECK_EQ(array_push(&evidence.coverage.gaps, gap), 0);
	verdicts_judge(&evidence, &verdicts);
	CHECK_STR(verdicts.list[0].next, "perftape verify names the damage");
	evidence.coverage.gaps.items[0].to_ns = 100;
	verdicts_judge(&evidence, &verdicts);
	CHECK_STR(verdicts.list[0].next, "perftape segments lists what is recorded");
	evidence_done(&evidence);
}

static void test_usual_core_is_not_accused(void)
{
	struct evidence evidence = unknown_host();
	struct evidence_core *core = make_core(&evidence);
	struct verdicts verdicts;

	core->kernel = 0.98;
	core->threads[0].row.chance = (struct evidence_chance){ 59, 6, 400, 7 / 60.0 };
	core->leaf_row.chance = (struct evidence_chance){ 59, 5, 400, 6 / 60.0 };
	core->full_chance = (struct evidence_chance){ 1000, 90, 2, 182 / 1001.0 };
	verdicts = judge(&evidence);
	CHECK_EQ(verdicts.count, 1);
	CHECK(!verdicts.list[0].accuses);
	evidence_done(&evidence);
}

static void test_little_to_compare_with(void)
{
	struct evidence evidence = unknown_host();
	struct evidence_core *core = make_core(&evidence);

	core->kernel = 0.98;
	core->threads[0].row =
		(struct evidence_row){ 0.98, 0.1, 0.3, { 4, 0, 400, 1 / 5.0 }, false };
	core->leaf_row = core->threads[0].row;
	core->full_chance = (struct evidence_chance){ 0 };
	CHECK(!core_standing(&evidence, core).tested);
	check_first(&evidence, "kernel_loop", "likely");
}

static void test_two_causes_at_once(void)
{
	struct evidence evidence = unknown_host();
	struct evidence_core *core = make_core(&evidence);
	struct verdicts verdicts;

	core->kernel = 0.98;
	core = make_core(&evidence);
	core->cpu = 4;
	core->softirq = 0.97;
	verdicts = judge(&evidence);
	CHECK_EQ(verdicts.count, 2);
	CHECK_STR(verdicts.list[0].kind, "softirq_flood");
	CHECK_EQ(verdicts.list[0].core, 1);
	CHECK_STR(verdicts.list[1].kind, "kernel_loop");
	evidence_done(&evidence);
}

static void test_words_of_an_incident(void)
{
	static const char *const parts[][2] = { { "1", "starved CPU" },
						{ "0", "a lost interrupt" },
						{ "-1", "the line does not say" } };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct evidence evidence = { .stall_to_ns = 6600 * NSEC_PER_MSEC };
		_cleanup_(buffer_done) struct buffer text = { 0 };

		evidence.incident = (struct evidence_incident){
			.kind = "ena.tx_stall",
			.device = "0000:20:03.0",
			.ifname = "eth0",
			.has_queue = true,
			.queue = 5,
			.cpu_source = EVIDENCE_CPU_INTERRUPTS,
			.cpu = 39,
			.has_start = true,
			.napi_scheduled = atoi(parts[i][0]),
		};
		incident_words_put(&evidence, &text);
		buffer_u8(&text, 0);
		CHECK(!buffer_failed(&text));
		if (!strstr((char *)text.data, parts[i][1]) ||
		    !strstr((char *)text.data, "queue 5 of eth0 (0000:20:03.0), stalled for 6") ||
		    !strstr((char *)text.data, "CPU 39 serves the queue"))
			CHECK_INSTEAD(parts[i][1], "%s", (char *)text.data);
	}
}

static void test_kinds_of_code(void)
{
	CHECK_EQ(code_kinds_of("mem_cgroup_iter"), 1 << CODE_CGROUP_WALK);
	CHECK_EQ(code_kinds_of("try_to_free_pages.constprop.0"), 1 << CODE_DIRECT_RECLAIM);
	CHECK_EQ(code_kinds_of("cgroup_rstat_flush_locked"), 1 << CODE_CGROUP_WALK);
	CHECK_EQ(code_kinds_of("mem_cgroup_iter_break"), 0);
	CHECK_EQ(code_kinds_of(""), 0);
}

static void put_busy(struct stall_grid *grid, uint32_t cpu, unsigned int from_ms,
		     unsigned int to_ms)
{
	for (unsigned int at = from_ms; at < to_ms; at += 10)
		CHECK_EQ(stall_grid_add(grid, at * NSEC_PER_MSEC, cpu, STACK_CLASS_KERNEL,
					10 * NSEC_PER_MSEC),
			 0);
}

static void test_full_stretches(void)
{
	struct stall_grid grid;
	struct stall_run run;

	CHECK_EQ(stall_grid_init(&grid, 0, 20 * NSEC_PER_SEC), 0);
	put_busy(&grid, 3, 4000, 9000);
	put_busy(&grid, 3, 12000, 13000);
	run = stall_grid_run(&grid, 3, 0, 100);
	CHECK_EQ(run.from, 20);
	CHECK_EQ(run.to, 45);
	/* only stretches that touch the columns count */
	run = stall_grid_run(&grid, 3, 50, 100);
	CHECK_EQ(run.from, 60);
	CHECK_EQ(run.to, 65);
	/* a number from a file does not decide how much memory the grid uses */
	CHECK_EQ(stall_grid_add(&grid, 0, STALL_GRID_CPUS_MAX, STACK_CLASS_KERNEL, 1), 0);
	CHECK(grid.cpus < STALL_GRID_CPUS_MAX);
	CHECK_EQ(stall_grid_run(&grid, 7000, 0, 100).to, 0);
	stall_grid_done(&grid);
}

CHECK_MAIN({ "zombie memory cgroups", test_zombies },
	   { "a walk without gauges is possible", test_walk_without_gauges_is_possible },
	   { "a walk without zombies is a kernel loop", test_walk_without_zombies },
	   { "direct reclaim", test_reclaim }, { "interrupt storm", test_interrupts },
	   { "softirq flood", test_softirqs },
	   { "a realtime hog needs a victim", test_realtime_needs_a_victim },
	   { "steal, quota and crash loop", test_host_figures },
	   { "a timer is no crash loop", test_timer_is_no_crash_loop },
	   { "all CPUs busy, and hidden code", test_machine_and_hidden },
	   { "a lost interrupt or the device", test_device },
	   { "nothing recorded", test_nothing_recorded }, { "damaged samples", test_damaged },
	   { "a usual core is not accused", test_usual_core_is_not_accused },
	   { "little to compare with", test_little_to_compare_with },
	   { "two causes at once", test_two_causes_at_once },
	   { "words of an incident", test_words_of_an_incident },
	   { "kinds of code", test_kinds_of_code }, { "full stretches", test_full_stretches })
