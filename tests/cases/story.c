// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the store of the golden screens: four minutes of a host with eight CPUs. In the third
 * minute, kubelet keeps CPU 5 in the kernel for six seconds, and a network queue stalls. Later the
 * kernel kills a process. All of it is the same in every run. Usage: story DIR
 */
#include "base/table.h"
#include "tape/tape-events.h"
#include "tests/check.h"
#include "tests/tapes.h"

/* 2025-03-01T12:00:00Z, which is never within the last day. */
#define BEGIN_NS 1740830400000000000ull
#define CPUS 8
#define MINUTES 4
#define FULL_CPU 5
#define FULL_FROM 144
#define FULL_TO 150
#define KILLED_AT 200

enum task { IDLE, KUBELET, TRAINER, FIND, SYSTEMD, SOFTIRQ, TASKS };

struct cast {
	uint32_t threads[TASKS], stacks[TASKS];
};

static void make_cast(struct tape *tape, struct cast *cast)
{
	uint32_t program = tapes_module(tape, "/usr/bin/python3.11", TAPE_MODULE_ELF);
	uint32_t python = tapes_call(tape, 0, program, 0x40, "_start");

	python = tapes_call(tape, python, program, 0x80, "Py_BytesMain");
	*cast = (struct cast){
		.threads = { [IDLE] = tapes_thread(tape, 0, 0, "swapper/0"),
			     [KUBELET] = tapes_thread(tape, 1240, 1262, "kubelet"),
			     [TRAINER] = tapes_thread(tape, 4000, 4001, "ray::train"),
			     [FIND] = tapes_thread(tape, 7001, 7001, "find"),
			     [SYSTEMD] = tapes_thread(tape, 1, 1, "systemd"),
			     [SOFTIRQ] = tapes_thread(tape, 0, 0, "swapper/0") },
		.stacks = { [IDLE] = tapes_kernel(tape, "do_idle;native_safe_halt"),
			    [KUBELET] = tapes_kernel(tape, "do_syscall_64;vfs_read;seq_read_iter;"
							   "memcg_stat_show;mem_cgroup_iter"),
			    [TRAINER] = tapes_call(tape, python, program, 0xc0,
						   "_PyEval_EvalFrameDefault"),
			    [FIND] = tapes_kernel(tape, "do_syscall_64;iterate_dir;ext4_readdir"),
			    [SYSTEMD] = tapes_kernel(tape, "do_syscall_64;cgroup_mkdir;"
							   "mem_cgroup_css_alloc"),
			    [SOFTIRQ] = tapes_kernel(tape, "common_interrupt;__do_softirq;"
							   "net_rx_action;ena_io_poll") },
	};
	tape->threads.items[cast->threads[KUBELET]].cgroup =
		tapes_string(tape, "/system.slice/kubelet.service");
}

/* Returns numbers that look random and are the same in every run. */
static uint64_t dice(uint64_t ns, uint32_t cpu, uint64_t sides)
{
	return hash_u64(ns / 1000 * 31 + cpu) % sides;
}

static enum task task_of(uint64_t ns, uint32_t cpu, uint64_t second)
{
	uint64_t thrown = dice(ns, cpu, 100);

	if (cpu == FULL_CPU && second >= FULL_FROM && second < FULL_TO)
		return KUBELET;
	if (cpu < 2)
		return thrown < 60 ? TRAINER : IDLE;
	if (cpu == 2)
		return thrown < 8 ? FIND : thrown < 10 ? SYSTEMD : IDLE;
	if (cpu == 3)
		return thrown < 3 ? SOFTIRQ : IDLE;
	return thrown < 2 ? KUBELET : IDLE;
}

static void add_samples(struct tape *tape, const struct cast *cast)
{
	for (uint64_t ns = tape->begin_ns + TAPES_PERIOD / 2; ns < tape->end_ns; ns += TAPES_PERIOD)
		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			enum task task = task_of(ns, cpu, (ns - TAPES_PERF) / NSEC_PER_SEC);

			tapes_sample(tape, ns / 1000 * 1000, cpu, cast->threads[task],
				     cast->stacks[task]);
		}
}

static uint32_t figure_named(struct tape *tape, const char *name)
{
	uint32_t gauge;

	CHECK_EQ(tape_add_gauge(tape, name, &gauge), 0);
	return gauge;
}

static void add_point(struct tape *tape, const char *name, uint64_t second, int64_t value)
{
	CHECK_EQ(tape_add_point(tape, figure_named(tape, name), TAPES_PERF + second * NSEC_PER_SEC,
				value),
		 0);
}

/* Returns how many milliseconds a CPU has spent on one kind of work up to a second. */
static int64_t milliseconds(uint32_t cpu, uint64_t second, const char *kind)
{
	uint64_t full = second <= FULL_FROM ? 0 : MIN(second, (uint64_t)FULL_TO) - FULL_FROM;
	bool is_full = cpu == FULL_CPU, is_user = cpu < 2;

	if (strcmp(kind, "system") == 0)
		return second * 20 + (is_full ? full * 980 : 0);
	if (strcmp(kind, "user") == 0)
		return second * (is_user ? 600 : 10);
	return second * (is_user ? 380 : 970) - (is_full ? full * 970 : 0);
}

/* Adds one figure after the other, because a tape keeps the points of a gauge together. */
static void add_cpu_figures(struct tape *tape, uint64_t begin, uint64_t end)
{
	static const char *const kinds[] = { "user", "system", "idle" };
	char name[32];

	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			snprintf(name, sizeof(name), "cpu%u/%s_ms", cpu, kinds[i]);
			for (uint64_t at = begin; at < end; at++)
				add_point(tape, name, at, milliseconds(cpu, at, kinds[i]));
		}
}

static int64_t host_figure(const char *name, uint64_t second)
{
	bool full = second > FULL_FROM && second <= FULL_TO;

	if (strcmp(name, "host/running") == 0)
		return 2 + dice(second, 1, 3) + (full ? 4 : 0);
	if (strcmp(name, "host/switches") == 0)
		return second * 1200 + dice(second, 2, 200);
	if (strcmp(name, "pressure/cpu_some_us") == 0)
		return second * 3000 + dice(second, 3, 900);
	if (strcmp(name, "net/eth0/tx5_timeouts") == 0)
		return second >= FULL_TO;
	if (strcmp(name, "memory_cgroups/in_use") == 0)
		return 240;
	if (strcmp(name, "memory_cgroups/dying") == 0)
		return 68440;
	/* the recorder began after the first of them were removed */
	if (strcmp(name, "dying-cgroups/docker/*") == 0)
		return 68301;
	return 68680;
}

static void add_host_figures(struct tape *tape, uint64_t begin, uint64_t end)
{
	static const char *const names[] = { "host/running",	      "host/switches",
					     "pressure/cpu_some_us",  "net/eth0/tx5_timeouts",
					     "memory_cgroups/in_use", "memory_cgroups/tracked",
					     "memory_cgroups/dying",  "dying-cgroups/docker/*" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (uint64_t at = begin; at < end; at++)
			add_point(tape, names[i], at, host_figure(names[i], at));
}

static void add_incident(struct tape *tape, uint64_t at, uint64_t stall, const char *kind,
			 uint32_t severity, const char *text)
{
	uint64_t ns = TAPES_PERF + at * NSEC_PER_SEC;

	CHECK_EQ(array_push(&tape->incidents,
			    (struct tape_incident){ .time_ns = ns,
						    .stall_ns = ns - stall,
						    .kind = tapes_string(tape, kind),
						    .severity = severity,
						    .text = tapes_string(tape, text),
						    .source = tapes_string(tape, "kmsg") }),
		 0);
}

static void add_fields(struct tape *tape, const char *const (*fields)[2], size_t count)
{
	struct tape_fields run = { tape->fields.count, count };

	for (size_t i = 0; i < count; i++)
		CHECK_EQ(array_push(&tape->fields,
				    (struct tape_fact){ tapes_string(tape, fields[i][0]),
							tapes_string(tape, fields[i][1]) }),
			 0);
	tape->incidents.items[tape->incidents.count - 1].fields = run;
}

static void add_stall(struct tape *tape)
{
	static const char *const fields[][2] = {
		{ TAPE_INCIDENT_ID, "17" },
		{ "bdf", "0000:20:03.0" },
		{ "ifname", "eth0" },
		{ "napi_us", "5900000" },
		{ "qid", "5" },
		{ "queue_cpu", "5" },
	};

	add_incident(tape, FULL_TO, 5900 * NSEC_PER_MSEC, "ena.tx_stall", 4,
		     "ena 0000:20:03.0 eth0: TX q 5 is paused for too long (threshold 5000000). "
		     "Time since last napi 5900000 usec. napi scheduled: 1");
	add_fields(tape, fields, ARRAY_SIZE(fields));
}

static void add_kill(struct tape *tape)
{
	static const char *const fields[][2] = { { TAPE_INCIDENT_ID, "18" }, { "comm", "java" } };

	add_incident(tape, KILLED_AT, 0, "oom.kill", 3,
		     "Out of memory: Killed process 5108 (java) total-vm:4096kB, anon-rss:2048kB");
	add_fields(tape, fields, ARRAY_SIZE(fields));
}

static void add_event(struct tape *tape, const struct cast *cast, uint64_t at, const char *path)
{
	const struct tape_event event = { .time_ns = TAPES_PERF + at * NSEC_PER_SEC,
					  .cpu = 2,
					  .thread = cast->threads[SYSTEMD] };

	CHECK_EQ(tape_add_event(tape, &event, "cgroup:cgroup_mkdir"), 0);
	CHECK_EQ(tape_add_event_number(tape, "id", 4000 + at), 0);
	CHECK_EQ(tape_add_event_field(tape, "path", path, strlen(path)), 0);
}

static void add_dying(struct tape *tape, uint64_t at)
{
	struct tape_event event = { .time_ns = TAPES_PERF + at * NSEC_PER_SEC };

	CHECK_EQ(tape_add_no_thread(tape, &event.thread), 0);
	CHECK_EQ(tape_add_event(tape, &event, TAPE_EVENT_DYING), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_PREFIX, "/docker/*", 9), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_COUNT, 68301), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_OLDEST, 7200), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_MADE_BY, "ecs-agent", 9), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_MADE_BY_PID, 812), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_REMOVED_BY, "systemd", 7), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_COUNTED, 86400), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_UNSURE, 0), 0);
}

static void add_minute(struct tapes_store *store, unsigned int minute)
{
	uint64_t begin = 60 * minute, end = begin + 60;
	struct tape *tape =
		tapes_bare(TAPES_PERF + begin * NSEC_PER_SEC, TAPES_PERF + end * NSEC_PER_SEC);
	struct cast cast;

	tapes_anchor(tape, TAPES_PERF, BEGIN_NS);
	CHECK_EQ(tape_add_fact(tape, "cpus", "8"), 0);
	CHECK_EQ(tape_add_fact(tape, "cpus_online", "0-7"), 0);
	make_cast(tape, &cast);
	add_samples(tape, &cast);
	add_cpu_figures(tape, begin, end);
	add_host_figures(tape, begin, end);
	add_event(tape, &cast, begin + 7, "/docker/4f1d0c5b7a3e");
	add_event(tape, &cast, begin + 28, "/docker/90b2a6c1f7d4");
	add_dying(tape, begin + 40);
	if (FULL_TO >= begin && FULL_TO < end)
		add_stall(tape);
	if (KILLED_AT >= begin && KILLED_AT < end)
		add_kill(tape);
	tapes_store_put(store, tape);
}

int main(int argc, char **argv)
{
	struct tapes_store store;

	if (argc != 2 || setjmp(check_failed))
		return 1;
	snprintf(store.path, sizeof(store.path), "%s", argv[1]);
	for (unsigned int minute = 0; minute < MINUTES; minute++)
		add_minute(&store, minute);
	return 0;
}
