// SPDX-License-Identifier: GPL-2.0-only
/* Gauges from trees of files of several kinds of hosts. */
#include "tests/check.h"

#include "gauges/interrupts.h"
#include "tests/kept.h"

#define TICK_MS (1000 / sysconf(_SC_CLK_TCK))
static void test_cpu(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	tree_init(&tree);
	tree_put(&tree, "/proc/stat",
		 "cpu  100 1 2 3 4 5 6 7 8 9\n"
		 "cpu0 100 20 30 400 5 6 7 8 9 10\n"
		 "cpu17 1 2 3 4\n"
		 "cpu18 1 2 3\n"
		 "intr 12345 0 0 7\n"
		 "ctxt 777\n"
		 "procs_running 3\n"
		 "procs_blocked 1");
	read_all(&tree, &kept);
	CHECK_EQ(value_of(&kept, "cpu0/user_ms"), 91 * TICK_MS);
	CHECK_EQ(value_of(&kept, "cpu0/nice_ms"), 10 * TICK_MS);
	CHECK_EQ(value_of(&kept, "cpu0/guest_ms"), 19 * TICK_MS);
	CHECK_EQ(value_of(&kept, "cpu0/system_ms"), 30 * TICK_MS);
	CHECK_EQ(value_of(&kept, "cpu0/steal_ms"), 8 * TICK_MS);
	CHECK_EQ(value_of(&kept, "cpu17/idle_ms"), 4 * TICK_MS);
	CHECK_EQ(value_of(&kept, "cpu17/steal_ms"), 0);
	CHECK_EQ(value_of(&kept, "cpu18/user_ms"), NOTHING);
	CHECK_EQ(value_of(&kept, "host/switches"), 777);
	CHECK_EQ(value_of(&kept, "host/running"), 2);
	CHECK_EQ(value_of(&kept, "host/blocked"), 1);
}

static void test_pressure_and_vmstat(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	tree_init(&tree);
	tree_put(&tree, "/proc/pressure/memory",
		 "some avg10=0.00 avg60=1.25 avg300=0.00 total=1234\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=56\n");
	tree_put(&tree, "/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
	tree_put(&tree, "/proc/vmstat",
		 "nr_free_pages 1\npgscan_direct 42\npgscan_direct_throttle 3\n");
	read_all(&tree, &kept);
	CHECK_EQ(value_of(&kept, "pressure/memory_some_us"), 1234);
	CHECK_EQ(value_of(&kept, "pressure/memory_full_us"), 56);
	CHECK_EQ(value_of(&kept, "pressure/cpu_some_us"), 9);
	CHECK_EQ(value_of(&kept, "pressure/cpu_full_us"), NOTHING);
	CHECK_EQ(value_of(&kept, "vmstat/pgscan_direct"), 42);
	CHECK_EQ(kept.puts, 4);
}

static void test_softirqs(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	tree_init(&tree);
	tree_put(&tree, "/proc/softirqs",
		 "                    CPU0       CPU1       CPU8\n"
		 "          HI:          2          0          0\n"
		 "      NET_TX:          0          6          0\n"
		 "      NET_RX:       2856       4629          7\n"
		 "    NEWER_ONE:         1          1          1\n"
		 "     HRTIMER:          5\n"
		 "         RCU:         70         80          x\n");
	read_all(&tree, &kept);
	CHECK_EQ(value_of(&kept, "cpu0/hi_softirqs"), 2);
	CHECK_EQ(value_of(&kept, "cpu1/hi_softirqs"), NOTHING);
	CHECK_EQ(value_of(&kept, "cpu1/net_tx_softirqs"), 6);
	CHECK_EQ(value_of(&kept, "cpu0/net_rx_softirqs"), 2856);
	CHECK_EQ(value_of(&kept, "cpu8/net_rx_softirqs"), 7);
	CHECK_EQ(value_of(&kept, "cpu0/hrtimer_softirqs"), 5);
	CHECK_EQ(value_of(&kept, "cpu1/rcu_softirqs"), 80);
	CHECK_EQ(kept.puts, 8);
}

/* A CPU that comes gets a gauge of its own, also in the column of another CPU. */
static void test_softirq_columns(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };
	const struct gauges_sink sink = { kept_name, kept_put, &kept };
	struct gauges *gauges;

	tree_init(&tree);
	tree_put(&tree, "/proc/softirqs", " CPU0 CPU2\nTIMER: 1 3\n");
	CHECK_EQ(gauges_new(tree.root, &sink, &gauges), 0);
	CHECK_EQ(gauges_read(gauges, 0), 0);
	tree_put(&tree, "/proc/softirqs", " CPU0 CPU1 CPU2\nTIMER: 4 5 6\n");
	CHECK_EQ(gauges_read(gauges, 1), 0);
	CHECK_EQ(value_of(&kept, "cpu0/timer_softirqs"), 4);
	CHECK_EQ(value_of(&kept, "cpu1/timer_softirqs"), 5);
	CHECK_EQ(value_of(&kept, "cpu2/timer_softirqs"), 6);
	gauges_free(gauges);
}

static void tree_thread(struct tree *tree, int tid, const char *comm, const char *schedstat)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	tree_put(tree, path, comm);
	snprintf(path, sizeof(path), "/proc/%d/schedstat", tid);
	tree_put(tree, path, schedstat);
}

/* The kernel's threads that serve softirqs and the network are read, and no thread of a user. */
static void test_waits(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	tree_init(&tree);
	tree_put(&tree, "/proc/2/task/2/children", "14 15 22 300 301 ");
	tree_thread(&tree, 14, "ksoftirqd/0\n", "385103857 6379987531 10327\n");
	tree_thread(&tree, 15, "kworker/0:0\n", "1 2000 3\n");
	tree_thread(&tree, 22, "ksoftirqd/1\n", "5 6000 7\n");
	tree_thread(&tree, 300, "napi/eth0-8193\n", "1 9000000 4\n");
	/* a kernel that does not keep the figures */
	tree_thread(&tree, 301, "napi/eth0-8194\n", "0 0 0\n");
	tree_thread(&tree, 400, "ksoftirqd/7\n", "1 2000 3\n");
	read_all(&tree, &kept);
	CHECK_EQ(value_of(&kept, "thread/ksoftirqd/0/wait_us"), 6379987);
	CHECK_EQ(value_of(&kept, "thread/ksoftirqd/0/runs"), 10327);
	CHECK_EQ(value_of(&kept, "thread/ksoftirqd/1/wait_us"), 6);
	CHECK_EQ(value_of(&kept, "thread/napi/eth0-8193/wait_us"), 9000);
	CHECK_EQ(kept.puts, 6);
}

static void take_thread(const struct tree *tree, int tid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/proc/%d/schedstat", tree->root, tid);
	CHECK_EQ(truncate(path, 0), 0);
	CHECK_EQ(unlink(path), 0);
}

/* A thread of the kernel that starts later is found, and one that ended is not read any more. */
static void test_waits_change(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };
	const struct gauges_sink sink = { kept_name, kept_put, &kept };
	struct gauges *gauges;

	tree_init(&tree);
	tree_put(&tree, "/proc/2/task/2/children", "14 ");
	tree_thread(&tree, 14, "ksoftirqd/0\n", "1 2000 3\n");
	tree_thread(&tree, 9, "napi/eth0-1\n", "1 4000 3\n");
	CHECK_EQ(gauges_new(tree.root, &sink, &gauges), 0);
	CHECK_EQ(gauges_read(gauges, 0), 0);
	CHECK_EQ(kept.puts, 2);
	tree_put(&tree, "/proc/2/task/2/children", "14 9 ");
	for (int i = 1; i < 60; i++)
		CHECK_EQ(gauges_read(gauges, i), 0);
	CHECK_EQ(kept.puts, 2 * 60);
	CHECK_EQ(gauges_read(gauges, 60), 0);
	CHECK_EQ(value_of(&kept, "thread/napi/eth0-1/wait_us"), 4);
	CHECK_EQ(kept.puts, 2 * 62);
	take_thread(&tree, 14);
	CHECK_EQ(gauges_read(gauges, 61), 0);
	CHECK_EQ(gauges_read(gauges, 62), 0);
	CHECK_EQ(kept.puts, 2 * 64);
	gauges_free(gauges);
}

/*
 * A thread that an incident names is read for ten minutes, also on a kernel whose own threads
 * cannot be found. If there are too many such threads, the last ones are read.
 */
static void test_named_threads(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };
	const struct gauges_sink sink = { kept_name, kept_put, &kept };
	struct gauges *gauges;

	tree_init(&tree);
	CHECK_EQ(gauges_new(tree.root, &sink, &gauges), 0);
	CHECK_EQ(gauges_read(gauges, 0), 0);
	tree_thread(&tree, 4242, "raylet\n", "1 7000 3\n");
	CHECK_EQ(gauges_watch_thread(gauges, 4242), 0);
	CHECK_EQ(gauges_watch_thread(gauges, 4242), 0);
	CHECK_EQ(gauges_watch_thread(gauges, 4243), 0);
	for (int i = 1; i <= 700; i++)
		CHECK_EQ(gauges_read(gauges, i), 0);
	CHECK_EQ(value_of(&kept, "thread/raylet:4242/wait_us"), 7);
	CHECK_EQ(kept.puts, 2 * 600);
	for (int i = 0; i < 20; i++) {
		tree_thread(&tree, 5000 + i, "job\n", "1 2000 3\n");
		CHECK_EQ(gauges_watch_thread(gauges, 5000 + i), 0);
	}
	CHECK_EQ(gauges_read(gauges, 701), 0);
	CHECK_EQ(kept.puts, 2 * 616);
	CHECK_EQ(value_of(&kept, "thread/job:5019/wait_us"), 2);
	gauges_free(gauges);
}

static void test_net(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	tree_init(&tree);
	tree_folder(&tree, "/sys/class/net/eth0/device");
	tree_put(&tree, "/sys/class/net/eth0/carrier_changes", "4\n");
	tree_put(&tree, "/sys/class/net/eth0/queues/tx-0/tx_timeout", "0\n");
	tree_put(&tree, "/sys/class/net/eth0/queues/tx-1/tx_timeout", "17\n");
	tree_put(&tree, "/sys/class/net/veth1/carrier_changes", "2\n");
	read_all(&tree, &kept);
	CHECK_EQ(value_of(&kept, "net/eth0/carrier_changes"), 4);
	CHECK_EQ(value_of(&kept, "net/eth0/tx0_timeouts"), 0);
	CHECK_EQ(value_of(&kept, "net/eth0/tx1_timeouts"), 17);
	CHECK_EQ(kept.puts, 3);
}

static void check_memory(const struct tree *tree, int64_t tracked, int64_t in_use, int64_t dying)
{
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	read_all(tree, &kept);
	CHECK_EQ(value_of(&kept, "memory_cgroups/tracked"), tracked);
	CHECK_EQ(value_of(&kept, "memory_cgroups/in_use"), in_use);
	CHECK_EQ(value_of(&kept, "memory_cgroups/dying"), dying);
}

#define V1_MOUNT "31 24 0:27 / /cg/mem\\040ory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
#define V2_MOUNT "30 24 0:26 / /cg/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"

static void test_memory_v1(void)
{
	_cleanup_(tree_done) struct tree tree;

	tree_init(&tree);
	tree_put(&tree, "/proc/self/mountinfo", V2_MOUNT V1_MOUNT);
	tree_put(&tree, "/cg/unified/cgroup.controllers", "hugetlb\n");
	tree_put(&tree, "/cg/unified/cgroup.stat", "nr_descendants 3\nnr_dying_descendants 99\n");
	tree_folder(&tree, "/cg/mem ory/system.slice/a.service");
	tree_folder(&tree, "/cg/mem ory/system.slice/b.service");
	tree_put(&tree, "/proc/cgroups",
		 "#subsys_name\thierarchy\tnum_"
		 "cgroups\tenabled\ncpu\t2\t5\t1\nmemory\t4\t70033\t1\n");
	tree_folder(&tree, "/cg/mem ory/.hidden/..deeper");
	check_memory(&tree, 70033, 6, 70027);
	/* inside a container, the counter covers more cgroups than the visible folders */
	tree_put(&tree, "/proc/self/mountinfo",
		 "31 24 0:27 /docker/1 /cg/mem\\040ory rw - cgroup cgroup rw,memory\n");
	check_memory(&tree, NOTHING, NOTHING, NOTHING);
}

/*
 * A container with its own cgroup namespace sees its part of the hierarchy as the root, and its
 * mountinfo does not show that.
 */
static void test_memory_namespace(void)
{
	static const struct {
		const char *space;
		int64_t tracked, in_use, dying;
	} cases[] = {
		{ "cgroup:[4026531835]", 3000, 2, 2998 },
		{ "cgroup:[4026532180]", NOTHING, NOTHING, NOTHING },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(tree_done) struct tree tree;
		char link[128];

		tree_init(&tree);
		tree_put(&tree, "/proc/self/mountinfo", V1_MOUNT);
		tree_put(&tree, "/proc/cgroups", "memory\t4\t3000\t1\n");
		tree_folder(&tree, "/cg/mem ory/a");
		tree_folder(&tree, "/proc/self/ns");
		snprintf(link, sizeof(link), "%s/proc/self/ns/cgroup", tree.root);
		CHECK_EQ(symlink(cases[i].space, link), 0);
		check_memory(&tree, cases[i].tracked, cases[i].in_use, cases[i].dying);
	}
}

static void test_memory_v2(void)
{
	_cleanup_(tree_done) struct tree tree;

	tree_init(&tree);
	tree_put(&tree, "/proc/self/mountinfo", V2_MOUNT);
	tree_put(&tree, "/cg/unified/cgroup.controllers", "cpuset cpu io memory pids\n");
	tree_put(&tree, "/cg/unified/cgroup.stat",
		 "nr_descendants 239\nnr_dying_descendants 68440\n");
	check_memory(&tree, 68680, 240, 68440);
	tree_put(&tree, "/cg/unified/cgroup.stat",
		 "nr_descendants 239\nnr_subsys_memory 201\nnr_dying_descendants 9\n"
		 "nr_dying_subsys_memory 7\n");
	check_memory(&tree, 208, 201, 7);
	/* a kernel without this row still has memory cgroups; an absent value is better than 0 */
	tree_put(&tree, "/cg/unified/cgroup.stat", "");
	check_memory(&tree, NOTHING, NOTHING, NOTHING);
}

static void test_throttling(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };
	const struct gauges_sink sink = { kept_name, kept_put, &kept };
	struct gauges *gauges;

	tree_init(&tree);
	tree_put(&tree, "/proc/self/mountinfo", V2_MOUNT);
	tree_put(&tree, "/cg/unified/cgroup.controllers", "cpu\n");
	tree_put(&tree, "/cg/unified/free/cpu.max", "max 100000\n");
	tree_put(&tree, "/cg/unified/free/cpu.stat", "nr_throttled 5\nthrottled_usec 7000\n");
	tree_put(&tree, "/cg/unified/pod/c1/cpu.max", "50000 100000\n");
	tree_put(&tree, "/cg/unified/pod/c1/cpu.stat",
		 "usage_usec 1\nnr_periods 9\nnr_throttled 6\nthrottled_usec 8000\n");
	CHECK_EQ(gauges_new(tree.root, &sink, &gauges), 0);
	CHECK_EQ(gauges_read(gauges, 0), 0);
	CHECK_EQ(value_of(&kept, "cgroup/pod/c1/throttles"), 6);
	CHECK_EQ(value_of(&kept, "cgroup/pod/c1/throttled_ms"), 8);
	CHECK_EQ(kept.puts, 2);
	/* a reading without a change counts too, because the next one is relative to it */
	CHECK_EQ(gauges_read(gauges, 60), 0);
	CHECK_EQ(kept.puts, 4);
	tree_put(&tree, "/cg/unified/pod/c1/cpu.stat", "nr_throttled 7\nthrottled_usec 9999\n");
	CHECK_EQ(gauges_read(gauges, 120), 0);
	CHECK_EQ(value_of(&kept, "cgroup/pod/c1/throttles"), 7);
	CHECK_EQ(value_of(&kept, "cgroup/pod/c1/throttled_ms"), 9);
	CHECK_EQ(kept.asked, 2);
	gauges_free(gauges);
}

static void test_throttling_v1(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	tree_init(&tree);
	tree_put(&tree, "/proc/self/mountinfo",
		 "31 24 0:27 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
	tree_put(&tree, "/cg/cpu/free/cpu.cfs_quota_us", "-1\n");
	tree_put(&tree, "/cg/cpu/free/cpu.stat", "nr_throttled 5\nthrottled_time 7000000\n");
	tree_put(&tree, "/cg/cpu/held/cpu.cfs_quota_us", "5000\n");
	tree_put(&tree, "/cg/cpu/held/cpu.stat",
		 "nr_periods 9\nnr_throttled 6\nthrottled_time 8000000\n");
	read_all(&tree, &kept);
	CHECK_EQ(value_of(&kept, "cgroup/held/throttled_ms"), 8);
	CHECK_EQ(kept.puts, 2);
}

/*
 * The sink numbers each name once, and each source has its own period. An absent file is not a
 * failure, and it is not read again for a while.
 */
static void test_pace(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };
	const struct gauges_sink sink = { kept_name, kept_put, &kept };
	struct gauges_cost cost;
	struct gauges *gauges;
	size_t asked;

	tree_init(&tree);
	tree_put(&tree, "/proc/stat", "cpu0 1 2 3 4 5 6 7 8 9 10\nctxt 5\n");
	tree_put(&tree, "/proc/vmstat", "oom_kill 1\n");
	CHECK_EQ(gauges_new(tree.root, &sink, &gauges), 0);
	CHECK_EQ(gauges_read(gauges, 0), 0);
	asked = kept.asked;
	CHECK_EQ(asked, 11);
	for (int i = 1; i < 20; i++)
		CHECK_EQ(gauges_read(gauges, i), 0);
	CHECK_EQ(kept.asked, asked);
	CHECK_EQ(kept.puts, 20 * 10 + 2);
	for (size_t i = 0; i < gauges_count(gauges); i++) {
		gauges_cost(gauges, i, &cost);
		if (strcmp(cost.source, "cpu") == 0) {
			CHECK_EQ(cost.reads, 20);
			CHECK(cost.cpu_ns > 0 && cost.longest_ns > 0);
		} else if (strcmp(cost.source, "vmstat") == 0) {
			CHECK_EQ(cost.reads, 2);
		} else {
			CHECK_EQ(cost.reads, 1);
			CHECK_EQ(cost.failures, 1);
		}
	}
	/* gauges_read() returns an error of the sink, and no source counts it as a failure */
	kept.answer = -ENOMEM;
	CHECK_EQ(gauges_read(gauges, 20), -ENOMEM);
	kept.answer = 0;
	CHECK_EQ(gauges_read(gauges, 21), 0);
	gauges_free(gauges);
}

static const struct {
	const char *name, *device;
	uint32_t queue;
	bool is_one, sends, receives;
} interrupt_names[] = {
	{ "eth0-Tx-Rx-5", "eth0", 5, true, true, true },
	{ "enp0s5-Tx-Rx-31", "enp0s5", 31, true, true, true },
	{ "i40e-eth1-TxRx-12", "eth1", 12, true, true, true },
	{ "eth0-TxRx-0", "eth0", 0, true, true, true },
	{ "eth2-tx-3", "eth2", 3, true, true, false },
	{ "eth2-rx-3", "eth2", 3, true, false, true },
	{ "virtio1-output.0", "virtio1", 0, true, true, false },
	{ "virtio1-input.1", "virtio1", 1, true, false, true },
	{ "mlx5_comp7@pci:0000:81:00.0", "0000:81:00.0", 7, true, true, true },
	{ "mlx5_async0@pci:0000:81:00.0", "", 0, false, false, false },
	{ "ena-mgmnt@pci:0000:00:05.0", "", 0, false, false, false },
	{ "nvme0q3", "", 0, false, false, false },
	{ "eth0-Tx-Rx-", "", 0, false, false, false },
	{ "eth0-Tx-Rx-5x", "", 0, false, false, false },
	{ "-Tx-Rx-5", "", 0, false, false, false },
	{ "timer", "", 0, false, false, false },
};

static void test_interrupt_names(void)
{
	struct interrupt interrupt;

	for (size_t i = 0; i < ARRAY_SIZE(interrupt_names); i++) {
		if (interrupts_parse_name(interrupt_names[i].name, &interrupt) !=
		    interrupt_names[i].is_one)
			CHECK_FAIL("%s", interrupt_names[i].name);
		if (!interrupt_names[i].is_one)
			continue;
		CHECK_STR(interrupt.device, interrupt_names[i].device);
		CHECK_EQ(interrupt.queue, interrupt_names[i].queue);
		CHECK_EQ(interrupt.sends, interrupt_names[i].sends);
		CHECK_EQ(interrupt.receives, interrupt_names[i].receives);
	}
}

static void test_interrupts(void)
{
	_cleanup_(interrupts_done) struct interrupts interrupts = { { 0 } };
	_cleanup_(tree_done) struct tree tree;

	tree_init(&tree);
	tree_put(&tree, "/proc/interrupts",
		 "            CPU0       CPU1\n"
		 "  0:         44          0   IO-APIC   2-edge      timer\n"
		 " 30:          1         17   PCI-MSIX-0000:00:05.0   1-edge      eth0-Tx-Rx-0\n"
		 " 31:          1         17   PCI-MSIX-0000:00:05.0   2-edge      eth0-Tx-Rx-5\n"
		 " 32:          1         17   PCI-MSIX-0000:00:05.0   3-edge      eth0-Tx-Rx-6\n"
		 "NMI:          0          0   Non-maskable interrupts\n"
		 "ERR:          0\n");
	tree_put(&tree, "/proc/irq/30/effective_affinity_list", "1\n");
	tree_put(&tree, "/proc/irq/30/smp_affinity_list", "0-1\n");
	tree_put(&tree, "/proc/irq/31/smp_affinity_list", "39\n");
	/* one of several CPUs; the right one is unknown */
	tree_put(&tree, "/proc/irq/32/smp_affinity_list", "39-40\n");
	CHECK_EQ(interrupts_read(tree.root, &interrupts), 0);
	CHECK_EQ(interrupts.list.count, 2);
	CHECK_EQ(interrupts.list.items[0].number, 30);
	CHECK_STR(interrupts.list.items[0].device, "eth0");
	CHECK_EQ(interrupts.list.items[0].cpu, 1);
	CHECK_EQ(interrupts.list.items[1].queue, 5);
	CHECK_EQ(interrupts.list.items[1].cpu, 39);
}

static void tree_device(struct tree *tree, const char *ifname, const char *address)
{
	char folder[64], path[192], target[64];

	snprintf(folder, sizeof(folder), "/sys/class/net/%s", ifname);
	tree_folder(tree, folder);
	snprintf(path, sizeof(path), "%s%s/device", tree->root, folder);
	snprintf(target, sizeof(target), "../../../%s", address);
	CHECK_EQ(symlink(target, path), 0);
}

static void read_anew(const struct tree *tree, struct kept *kept)
{
	kept_done(kept);
	*kept = (struct kept){ .asked = 0 };
	read_all(tree, kept);
}

static void test_queues(void)
{
	_cleanup_(tree_done) struct tree tree;
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };

	tree_init(&tree);
	tree_put(&tree, "/proc/interrupts",
		 " 30: 1 PCI-MSIX-0000:00:05.0 1-edge eth0-Tx-Rx-0\n"
		 " 31: 1 PCI-MSIX-0000:81:00.0 1-edge mlx5_comp3@pci:0000:81:00.0\n"
		 " 32: 1 PCI-MSIX 1-edge virtio0-input.0\n"
		 " 33: 1 PCI-MSIX 1-edge virtio0-output.0\n");
	tree_put(&tree, "/proc/irq/30/effective_affinity_list", "39\n");
	tree_put(&tree, "/proc/irq/31/effective_affinity_list", "7\n");
	tree_put(&tree, "/proc/irq/32/effective_affinity_list", "1\n");
	tree_put(&tree, "/proc/irq/33/effective_affinity_list", "2\n");
	tree_device(&tree, "eth0", "0000:00:05.0");
	read_all(&tree, &kept);
	CHECK_EQ(value_of(&kept, "net/eth0/tx0_cpu"), 39);
	CHECK_EQ(value_of(&kept, "pci/0000:00:05.0/tx0_cpu"), 39);
	CHECK_EQ(value_of(&kept, "pci/0000:81:00.0/tx3_cpu"), 7);
	CHECK_EQ(value_of(&kept, "net/virtio0/tx0_cpu"), 2);
	CHECK_EQ(kept.puts, 4);
	/*
	 * messages name the interface, or in some drivers only the device; if two interfaces belong
	 * to a device, the queue's CPU is unknown
	 */
	tree_device(&tree, "eth1", "0000:81:00.0");
	tree_device(&tree, "eth2", "virtio0");
	read_anew(&tree, &kept);
	CHECK_EQ(value_of(&kept, "net/eth1/tx3_cpu"), 7);
	CHECK_EQ(value_of(&kept, "pci/0000:81:00.0/tx3_cpu"), 7);
	CHECK_EQ(value_of(&kept, "net/eth2/tx0_cpu"), 2);
	CHECK_EQ(kept.puts, 5);
	tree_device(&tree, "eth3", "0000:81:00.0");
	read_anew(&tree, &kept);
	CHECK_EQ(value_of(&kept, "net/eth1/tx3_cpu"), NOTHING);
	CHECK_EQ(value_of(&kept, "pci/0000:81:00.0/tx3_cpu"), 7);
}

/* This host has every file that all supported kernels have. */
static void test_here(void)
{
	_cleanup_(kept_done) struct kept kept = { .asked = 0 };
	const struct tree here = { "" };
	int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN), found = 0;
	char name[32];

	read_all(&here, &kept);
	for (int i = 0; i < 4096; i++) {
		snprintf(name, sizeof(name), "cpu%d/idle_ms", i);
		found += value_of(&kept, name) >= 0;
	}
	CHECK_EQ(found, cpus);
	CHECK(value_of(&kept, "host/switches") > 0);
	CHECK(value_of(&kept, "vmstat/pgmajfault") > 0);
}

CHECK_MAIN({ "CPU time by kind", test_cpu }, { "pressure and vmstat", test_pressure_and_vmstat },
	   { "softirqs", test_softirqs }, { "softirqs of a CPU that comes", test_softirq_columns },
	   { "waits of the kernel's threads", test_waits },
	   { "threads of the kernel that come and go", test_waits_change },
	   { "waits of threads that incidents name", test_named_threads },
	   { "network devices", test_net }, { "memory cgroups of version 1", test_memory_v1 },
	   { "memory cgroups inside a namespace of version 1", test_memory_namespace },
	   { "memory cgroups of version 2", test_memory_v2 },
	   { "CPU quotas of version 2", test_throttling },
	   { "CPU quotas of version 1", test_throttling_v1 },
	   { "each source has its own period", test_pace },
	   { "names of interrupts", test_interrupt_names },
	   { "interrupts of queues", test_interrupts }, { "CPUs of queues", test_queues },
	   { "this host has every basic gauge", test_here })
