/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Stores of a large host on which something goes wrong now and then, each time for another reason.
 * The load of the host, the moments, CPUs and lengths depend on a seed. So a test can tune rules on
 * some seeds and judge them on others.
 *
 * Usual on the host: trainers that keep some CPUs busy all the time, a kubelet that works in the
 * kernel for a fraction of a second, compressors that fill a CPU for some seconds, a job that a
 * timer starts again and again, interrupts.
 */

#include "tape/tape-events.h"
#include "tests/random.h"
#include "tests/tapes.h"

enum caused {
	CAUSED_ZOMBIES,
	CAUSED_RECLAIM,
	CAUSED_KERNEL_LOOP,
	CAUSED_INTERRUPTS,
	CAUSED_SOFTIRQS,
	CAUSED_STEAL,
	CAUSED_QUOTA,
	CAUSED_REALTIME,
	CAUSED_ALL_BUSY,
	CAUSED_HIDDEN,
	CAUSED_DEVICE,
	CAUSED_CRASH_LOOP,
};
#define CAUSED_KINDS 12

/* The verdict that each cause should get. */
static const char *const caused_names[CAUSED_KINDS] = {
	"zombie_memory_cgroups", "direct_reclaim",   "kernel_loop",	    "interrupt_storm",
	"softirq_flood",	 "hypervisor_steal", "quota_throttling",    "realtime_hog",
	"all_cpus_busy",	 "hidden_code",	     "device_or_interrupt", "crash_loop",
};

#define CAUSED_SEGMENT_S 120
#define CAUSED_SLOT_S 120
#define CAUSED_LENGTH_S (CAUSED_SLOT_S * (CAUSED_KINDS + 1))

/* Work of one thread on one CPU in a stretch of time. */
struct caused_work {
	uint64_t from_ns, to_ns;
	uint32_t cpu, percent;
	int tid;
	const char *comm;
	/* functions from the outermost one; those of a program begin with a slash */
	const char *stack;
};

struct caused_host {
	uint32_t cpus;
	/* the moments are nanoseconds after the begin of the recording */
	struct {
		uint64_t from_ns, to_ns;
		uint32_t cpu;
	} slots[CAUSED_KINDS];
	array_of(struct caused_work) work;
};

static inline void caused_add(struct caused_host *host, uint64_t from_ns, uint64_t length_ns,
			      uint32_t cpu, uint32_t percent, int tid, const char *comm,
			      const char *stack)
{
	struct caused_work work = { from_ns, from_ns + length_ns, cpu, percent, tid, comm, stack };

	CHECK_EQ(array_push(&host->work, work), 0);
}

static inline uint64_t caused_between(uint32_t least_ms, uint32_t most_ms)
{
	return (least_ms + random_below(most_ms - least_ms + 1)) * NSEC_PER_MSEC;
}

/* Adds what is usual on the host. */
static inline void caused_usual(struct caused_host *host)
{
	uint64_t end_ns = CAUSED_LENGTH_S * NSEC_PER_SEC;
	uint32_t trainers = 1 + random_below(4), job_cpu = random_below(host->cpus);
	uint64_t job_ns = caused_between(70000, 200000);

	for (uint32_t i = 0; i < trainers; i++)
		caused_add(host, 0, end_ns, random_below(host->cpus), 40 + random_below(61),
			   4000 + i, "ray::train", "/main;/step;/matmul");
	for (uint64_t at = 0; at < end_ns; at += caused_between(4000, 12000))
		caused_add(host, at, caused_between(100, 400), random_below(host->cpus), 100, 1262,
			   "kubelet", "/main;do_syscall_64;vfs_read;seq_read_iter;proc_stat_show");
	for (uint64_t at = 0; at < end_ns; at += caused_between(15000, 90000))
		caused_add(host, at, caused_between(500, 5000), random_below(host->cpus), 100,
			   7000 + random_below(500), "gzip", "/main;/deflate;/longest_match");
	for (uint64_t at = caused_between(1000, 60000); at < end_ns; at += job_ns)
		caused_add(host, at, caused_between(4000, 6000), job_cpu, 100,
			   8000 + random_below(500), "updatedb",
			   "/main;do_syscall_64;iterate_dir;ext4_readdir;ext4_map_blocks");
	for (uint64_t at = 0; at < end_ns; at += caused_between(100, 700))
		caused_add(host, at, caused_between(20, 200), random_below(host->cpus), 60, 0,
			   "swapper/0", "common_interrupt;__do_softirq;net_rx_action;ena_io_poll");
}

/* Adds what fills CPUs in the slot of a cause. */
static inline void caused_plant(struct caused_host *host, enum caused cause)
{
	uint64_t from_ns = host->slots[cause].from_ns,
		 length_ns = host->slots[cause].to_ns - from_ns;
	uint32_t cpu = host->slots[cause].cpu;
	static const char *const stacks[CAUSED_KINDS] = {
		[CAUSED_ZOMBIES] = "/main;do_syscall_64;vfs_read;seq_read_iter;memcg_stat_show;"
				   "mem_cgroup_nr_lru_pages",
		[CAUSED_RECLAIM] = "/main;asm_exc_page_fault;handle_mm_fault;"
				   "__alloc_pages_slowpath;try_to_free_pages;"
				   "do_try_to_free_pages;shrink_node;shrink_lruvec",
		[CAUSED_KERNEL_LOOP] = "/main;do_syscall_64;ksys_ioctl;nvidia_ioctl;os_spin",
		[CAUSED_INTERRUPTS] = "asm_common_interrupt;common_interrupt;handle_irq_event;"
				      "nvme_irq",
		[CAUSED_SOFTIRQS] = "asm_common_interrupt;common_interrupt;__do_softirq;"
				    "net_rx_action;ena_io_poll;napi_gro_receive",
		[CAUSED_REALTIME] = "/main;/spin",
	};
	static const char *const comms[CAUSED_KINDS] = {
		[CAUSED_ZOMBIES] = "kubelet",	   [CAUSED_RECLAIM] = "java",
		[CAUSED_KERNEL_LOOP] = "nv-hostd", [CAUSED_INTERRUPTS] = "swapper/0",
		[CAUSED_SOFTIRQS] = "swapper/0",   [CAUSED_REALTIME] = "jackd",
	};

	if (stacks[cause])
		caused_add(host, from_ns, length_ns, cpu, 100,
			   comms[cause][0] == 's' ? 0 : 1262 + (int)cause, comms[cause],
			   stacks[cause]);
	for (uint32_t i = 0; cause == CAUSED_ALL_BUSY && i < host->cpus; i++)
		caused_add(host, from_ns, length_ns, i, 97, 9000 + (int)i, "cc1plus",
			   "/main;/parse;/expand");
}

static inline void caused_host_init(struct caused_host *host, uint64_t seed, uint32_t cpus)
{
	*host = (struct caused_host){ .cpus = cpus };
	random_state = 88172645463325252ull ^ seed * 0x9e3779b97f4a7c15ull;
	for (int i = 0; i < 20; i++)
		random_u64();
	for (int cause = 0; cause < CAUSED_KINDS; cause++) {
		uint64_t from_ns =
			(cause + 1) * CAUSED_SLOT_S * NSEC_PER_SEC + caused_between(20000, 90000);

		host->slots[cause].from_ns = from_ns;
		host->slots[cause].to_ns = from_ns + caused_between(5500, 7000);
		host->slots[cause].cpu = random_below(cpus);
	}
	caused_usual(host);
	for (int cause = 0; cause < CAUSED_KINDS; cause++)
		caused_plant(host, cause);
}

static inline uint32_t caused_stack(struct tape *tape, const char *functions)
{
	uint32_t kernel = tapes_module(tape, "[kernel.kallsyms]", TAPE_MODULE_KERNEL);
	uint32_t program = tapes_module(tape, "/usr/bin/program", TAPE_MODULE_ELF), stack = 0;
	_cleanup_free_ char *copy = strdup(functions);
	char *rest = copy;

	for (char *name = strsep(&rest, ";"); name; name = strsep(&rest, ";")) {
		bool user = *name == '/';
		uint64_t address = tapes_string(tape, name) * 0x1001ull;

		stack = tapes_call(tape, stack, user ? program : kernel,
				   user ? address : 0xffffffff81000000 + address, name + user);
	}
	return stack;
}

/* Adds the samples of one piece of work in a tape. Its timer is that of its CPU. */
static inline void caused_sample(struct tape *tape, const struct caused_work *work)
{
	uint64_t from_ns = MAX(TAPES_PERF + work->from_ns, tape->begin_ns);
	uint64_t to_ns = MIN(TAPES_PERF + work->to_ns, tape->end_ns);
	uint64_t at_ns = from_ns - from_ns % TAPES_PERIOD + work->cpu * 97000ull;
	uint32_t thread, stack;

	if (from_ns >= to_ns)
		return;
	thread = tapes_thread(tape, work->tid, work->tid, work->comm);
	stack = caused_stack(tape, work->stack);
	for (; at_ns < to_ns; at_ns += TAPES_PERIOD)
		if (at_ns >= from_ns && random_below(100) < work->percent)
			tapes_sample(tape, at_ns / 1000 * 1000, work->cpu, thread, stack);
}

/* A CPU takes one sample per period, whoever works. */
static inline void caused_thin(struct tape *tape, uint32_t cpus)
{
	_cleanup_free_ uint64_t *last = calloc(cpus, sizeof(*last));
	size_t kept = 0;

	CHECK(last);
	for (size_t i = 0; i < tape->samples.count; i++) {
		struct tape_sample sample = tape->samples.items[i];

		if (sample.time_ns < last[sample.cpu] + TAPES_PERIOD / 2)
			continue;
		last[sample.cpu] = sample.time_ns;
		tape->samples.items[kept++] = sample;
	}
	tape->samples.count = kept;
}

static inline bool caused_within(const struct caused_host *host, enum caused cause, uint64_t second)
{
	return second * NSEC_PER_SEC >= host->slots[cause].from_ns &&
	       second * NSEC_PER_SEC < host->slots[cause].to_ns;
}

/* Adds the readings of a gauge; `value` says what was read at a second. */
static inline void caused_gauge(struct tape *tape, const struct caused_host *host, const char *name,
				uint32_t every, uint32_t cpu,
				int64_t (*value)(const struct caused_host *host, uint32_t cpu,
						 uint64_t second))
{
	uint64_t begin = (tape->begin_ns - TAPES_PERF) / NSEC_PER_SEC;
	uint64_t end = (tape->end_ns - TAPES_PERF) / NSEC_PER_SEC;
	uint32_t gauge;

	CHECK_EQ(tape_add_gauge(tape, name, &gauge), 0);
	for (uint64_t at = begin; at < end; at += every)
		CHECK_EQ(tape_add_point(tape, gauge, TAPES_PERF + at * NSEC_PER_SEC,
					value(host, cpu, at)),
			 0);
}

/* Returns the seconds of a cause up to a moment. */
static inline int64_t caused_spent(const struct caused_host *host, enum caused cause,
				   uint64_t second)
{
	uint64_t from = host->slots[cause].from_ns / NSEC_PER_SEC;
	uint64_t to = host->slots[cause].to_ns / NSEC_PER_SEC;

	return second <= from ? 0 : MIN(second, to) - from;
}

/*
 * Returns whether the zombies still exist: their number grows up to their cause, and falls after
 * it.
 */
static inline bool caused_has_zombies(const struct caused_host *host, uint64_t second)
{
	uint64_t slot = host->slots[CAUSED_ZOMBIES].to_ns / NSEC_PER_SEC;

	return second <= slot + 10;
}

static inline int64_t caused_tracked(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	return caused_has_zombies(host, second) ? 68680 : 300;
}

static inline int64_t caused_in_use(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	return 240;
}

static inline int64_t caused_dying(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	return caused_tracked(host, cpu, second) - 240;
}

static inline int64_t caused_stalls(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	return second / 30 + 300 * caused_spent(host, CAUSED_RECLAIM, second);
}

static inline int64_t caused_throttled(const struct caused_host *host, uint32_t cpu,
				       uint64_t second)
{
	return 2 * second + 800 * caused_spent(host, CAUSED_QUOTA, second);
}

static inline int64_t caused_starts(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	uint64_t from = host->slots[CAUSED_CRASH_LOOP].from_ns / NSEC_PER_SEC - 60;

	return 1 + (second < from ? 0 : (second - from) / 5);
}

static inline int64_t caused_wait(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	uint64_t to = host->slots[CAUSED_REALTIME].to_ns / NSEC_PER_SEC;
	bool waited = cpu == host->slots[CAUSED_REALTIME].cpu && second > to;

	return second * 40 + (waited ? 5200000 : 0);
}

static inline int64_t caused_stolen(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	return 2 * second + (cpu % 3 ? 0 : 450 * caused_spent(host, CAUSED_STEAL, second));
}

static inline int64_t caused_system(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	bool hidden = cpu == host->slots[CAUSED_HIDDEN].cpu;

	return 10 * second + (hidden ? 985 * caused_spent(host, CAUSED_HIDDEN, second) : 0);
}

static inline int64_t caused_idle(const struct caused_host *host, uint32_t cpu, uint64_t second)
{
	return 1000 * second - caused_system(host, cpu, second) - caused_stolen(host, cpu, second);
}

/*
 * Adds the figures of each CPU. They take room, so only two minutes around the causes that need
 * them have figures.
 */
static inline void caused_cpu_gauges(struct tape *tape, const struct caused_host *host)
{
	static int64_t (*const values[])(const struct caused_host *, uint32_t,
					 uint64_t) = { caused_idle, caused_system, caused_stolen,
						       caused_wait };
	static const char *const names[] = { "cpu%u/idle_ms", "cpu%u/system_ms", "cpu%u/steal_ms",
					     "thread/ksoftirqd/%u/wait_us" };
	char name[48];

	for (uint32_t cpu = 0; cpu < host->cpus; cpu++)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(name, sizeof(name), names[i], cpu);
#pragma GCC diagnostic pop
			caused_gauge(tape, host, name, 1, cpu, values[i]);
		}
}

static inline void caused_gauges(struct tape *tape, const struct caused_host *host)
{
	static const enum caused with_cpus[] = { CAUSED_STEAL, CAUSED_HIDDEN, CAUSED_REALTIME };

	caused_gauge(tape, host, "memory_cgroups/tracked", 10, 0, caused_tracked);
	caused_gauge(tape, host, "memory_cgroups/in_use", 10, 0, caused_in_use);
	caused_gauge(tape, host, "memory_cgroups/dying", 10, 0, caused_dying);
	caused_gauge(tape, host, "vmstat/allocstall_normal", 1, 0, caused_stalls);
	caused_gauge(tape, host, "cgroup/kubepods/pod7/throttled_ms", 10, 0, caused_throttled);
	caused_gauge(tape, host, "unit/ecs.service/starts", 10, 0, caused_starts);
	for (size_t i = 0; i < ARRAY_SIZE(with_cpus); i++) {
		uint64_t at_ns = TAPES_PERF + host->slots[with_cpus[i]].to_ns;

		if (at_ns + 10 * NSEC_PER_SEC >= tape->begin_ns &&
		    at_ns < tape->end_ns + 10 * NSEC_PER_SEC) {
			caused_cpu_gauges(tape, host);
			break;
		}
	}
}

/* Adds the line of the kernel's log behind each cause. */
static inline void caused_incidents(struct tape *tape, const struct caused_host *host)
{
	for (int cause = 0; cause < CAUSED_KINDS; cause++) {
		uint64_t ns = (TAPES_PERF + host->slots[cause].to_ns) / 1000 * 1000;
		struct tape_fields fields = { tape->fields.count, 3 };
		char id[16];

		if (ns < tape->begin_ns || ns >= tape->end_ns)
			continue;
		snprintf(id, sizeof(id), "%d", cause + 1);
		CHECK_EQ(array_push(&tape->fields,
				    (struct tape_fact){ tapes_string(tape, TAPE_INCIDENT_ID),
							tapes_string(tape, id) }),
			 0);
		CHECK_EQ(array_push(&tape->fields, (struct tape_fact){ tapes_string(tape, "qid"),
								       tapes_string(tape, "5") }),
			 0);
		CHECK_EQ(array_push(
				 &tape->fields,
				 (struct tape_fact){
					 tapes_string(tape, "sched"),
					 tapes_string(tape, cause == CAUSED_DEVICE ? "0" : "1") }),
			 0);
		CHECK_EQ(array_push(&tape->incidents,
				    (struct tape_incident){
					    .time_ns = ns,
					    .stall_ns = ns - 5900 * NSEC_PER_MSEC,
					    .kind = tapes_string(tape, "ena.tx_stall"),
					    .severity = 4,
					    .text = tapes_string(tape, "TX q 5 is paused"),
					    .source = tapes_string(tape, "kmsg"),
					    .fields = fields }),
			 0);
	}
}

static inline void caused_store_make(struct tapes_store *store, struct caused_host *host)
{
	char cpus[16];

	tapes_store_init(store);
	snprintf(cpus, sizeof(cpus), "%u", host->cpus);
	for (unsigned int at = 0; at < CAUSED_LENGTH_S; at += CAUSED_SEGMENT_S) {
		struct tape *tape = tapes_new(at, MIN(at + CAUSED_SEGMENT_S, CAUSED_LENGTH_S));

		CHECK_EQ(tape_add_fact(tape, "cpus", cpus), 0);
		/* add the work that was planted last first: it hides what the CPU did otherwise */
		for (size_t i = host->work.count; i-- > 0;)
			caused_sample(tape, &host->work.items[i]);
		CHECK_EQ(tape_sort_samples(tape), 0);
		caused_thin(tape, host->cpus);
		caused_gauges(tape, host);
		caused_incidents(tape, host);
		tapes_store_put(store, tape);
	}
}

static inline void caused_host_done(struct caused_host *host)
{
	array_done(&host->work);
}
