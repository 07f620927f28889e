// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the store of the cases: two segments of one boot with 20 s between them, the second with
 * losses; a minute later a segment of another boot; and a truncated one. With `spiky`: a store at
 * 97 Hz with saturated CPUs. With `report`: adds the last report of a killed recorder to a store.
 * With `readers`: names on which readers of the text break. With `words FILE`: three samples for
 * each NUL-terminated word of a file. Each word is a comm, a function and a file, of a separate
 * process each. With `shared`: in DIR the stores of ten hosts whose incidents have two causes.
 * Usage: fixture DIR [spiky|report|readers|shared|words FILE]
 */
#include <fcntl.h>

#include "base/file.h"
#include "store/disk/files.h"
#include "store/disk/notes.h"
#include "tape/tape-events.h"
#include "tests/hostile.h"
#include "tests/shared-stores.h"
#include "tests/tapes.h"

/* 2025-03-01T12:00:00Z, which is never within the last day. */
#define BEGIN_NS 1740830400000000000ull

static struct tape *new_tape(const char *boot, unsigned int begin, unsigned int end)
{
	struct tape *tape =
		tapes_bare(TAPES_PERF + begin * NSEC_PER_SEC, TAPES_PERF + end * NSEC_PER_SEC);

	tapes_anchor(tape, TAPES_PERF, BEGIN_NS);
	tape->facts.items[0].value = tapes_string(tape, boot);
	return tape;
}

/* One sample per second on each of two CPUs: a busy kubelet, and an idle CPU. */
static void add_samples(struct tape *tape)
{
	uint32_t kubelet = tapes_thread(tape, 1240, 1262, "kubelet");
	uint32_t idle = tapes_thread(tape, 0, 0, "swapper/1");
	uint32_t busy = tapes_kernel(tape, "do_syscall_64;vfs_read;mem_cgroup_nr_lru_pages");
	uint32_t halt = tapes_kernel(tape, "cpu_startup_entry;do_idle;native_safe_halt");

	tape->threads.items[kubelet].cgroup = tapes_string(tape, "/system.slice/kubelet.service");
	for (uint64_t ns = tape->begin_ns; ns < tape->end_ns; ns += NSEC_PER_SEC) {
		tapes_sample(tape, ns, 0, kubelet, busy);
		tapes_sample(tape, ns, 1, idle, halt);
	}
}

static void add_loss(struct tape *tape, uint32_t kind, unsigned int at, uint64_t count)
{
	uint64_t ns = TAPES_PERF + at * NSEC_PER_SEC;

	CHECK_EQ(array_push(&tape->losses, (struct tape_loss){ kind, 0, ns, ns + 1000, count }), 0);
}

/* The line came 6.5 s after the stall had begun. */
static void add_incident(struct tape *tape, unsigned int second, const char *id)
{
	const char *const fields[][2] = {
		{ TAPE_INCIDENT_ID, id }, { "bdf", "0000:20:03.0" },	 { "ifname", "eth0" },
		{ "qid", "5" },		  { "threshold_us", "5000000" }, { "napi_us", "6500000" },
		{ "sched", "1" },	  { "queue_cpu", "12" },
	};
	uint64_t ns = TAPES_PERF + second * NSEC_PER_SEC;
	struct tape_fields run = { tape->fields.count, ARRAY_SIZE(fields) };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		CHECK_EQ(array_push(&tape->fields,
				    (struct tape_fact){ tapes_string(tape, fields[i][0]),
							tapes_string(tape, fields[i][1]) }),
			 0);
	CHECK_EQ(array_push(&tape->incidents,
			    (struct tape_incident){
				    .time_ns = ns,
				    .stall_ns = ns - 6500 * NSEC_PER_MSEC,
				    .kind = tapes_string(tape, "ena.tx_stall"),
				    .severity = 4,
				    .text = tapes_string(
					    tape,
					    "ena 0000:20:03.0 eth0: TX q 5 is paused for too long "
					    "(threshold 5000000). Time since last napi "
					    "6500000 usec. napi scheduled: 1"),
				    .source = tapes_string(tape, "kmsg"),
				    .fields = run,
			    }),
		 0);
}

static void add_dying(struct tape *tape, const struct tape_event *event, const char *prefix,
		      uint64_t count, const char *maker)
{
	CHECK_EQ(tape_add_event(tape, event, TAPE_EVENT_DYING), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_PREFIX, prefix, strlen(prefix)), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_COUNT, count), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_OLDEST, 7200), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_MADE_BY, maker, strlen(maker)), 0);
	if (*maker)
		CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_MADE_BY_PID, 812), 0);
	CHECK_EQ(tape_add_event_field(tape, TAPE_DYING_REMOVED_BY, "systemd", 7), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_COUNTED, 86400), 0);
	CHECK_EQ(tape_add_event_number(tape, TAPE_DYING_UNSURE, 0), 0);
}

/* A process makes a cgroup, the process that removes it is unknown, and programs start. */
static void add_events(struct tape *tape)
{
	struct tape_event event = { .time_ns = tape->begin_ns + 31 * NSEC_PER_SEC, .cpu = 1 };

	event.thread = tapes_thread(tape, 812, 812, "ecs agent");
	CHECK_EQ(tape_add_event(tape, &event, "cgroup:cgroup_mkdir"), 0);
	CHECK_EQ(tape_add_event_number(tape, "id", 4711), 0);
	CHECK_EQ(tape_add_event_field(tape, "path", "/ecs/a", 6), 0);
	CHECK_EQ(tape_add_no_thread(tape, &event.thread), 0);
	event.time_ns += NSEC_PER_SEC;
	CHECK_EQ(tape_add_count(tape, &event, "sched:sched_process_exec", 12, 5 * NSEC_PER_SEC), 0);
	CHECK_EQ(tape_add_event_number(tape, "/bin/sh", 12), 0);
	event.time_ns += 5 * NSEC_PER_SEC;
	add_dying(tape, &event, "/system.slice/ecs-agent.service", 2400, "ecs-\033agent");
	add_dying(tape, &event, "/pods/pod*", 7, "");
}

/*
 * The CPUs of queues, read twice: one queue moves to another CPU, and another one is known only at
 * the second reading. Other gauges are read once, or are not counters.
 */
static void add_figures(struct tape *tape)
{
	static const struct {
		const char *name;
		unsigned int at;
		int64_t value;
	} points[] = {
		{ "net/eth0/tx5_cpu", 10, 12 },
		{ "net/eth0/tx5_cpu", 40, 13 },
		{ "net/eth0/tx5_timeouts", 10, 0 },
		{ "net/eth0/tx5_timeouts", 20, 2 },
		{ "net/eth0/tx6_cpu", 40, 3 },
		{ "net/eth0/tx7_cpu", 10, 39 },
		{ "pci/0000:20:03.0/tx7_cpu", 10, 39 },
		{ "host/switches", 10, 1000 },
		{ "host/switches", 20, 3000 },
		{ "pressure/memory_some_us", 10, 1000000 },
		{ "pressure/memory_some_us", 20, 2000000 },
		{ "unit/ecs-agent.service/starts", 10, 12 },
		{ "memory_cgroups/dying", 10, 2510 },
		{ "memory_cgroups/dying", 20, 2511 },
		{ TAPE_GAUGE_DYING "/system.slice/ecs-agent.service", 10, 239 },
		{ TAPE_GAUGE_DYING "/system.slice/ecs-agent.service", 20, 240 },
		{ TAPE_GAUGE_DYING "/system.slice/ecs-agent.service" TAPE_GAUGE_OLDEST, 10, 7190 },
		{ TAPE_GAUGE_DYING "/system.slice/ecs-agent.service" TAPE_GAUGE_OLDEST, 20, 7200 },
	};
	uint32_t gauge = 0;

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		if (!i || strcmp(points[i].name, points[i - 1].name) != 0)
			CHECK_EQ(tape_add_gauge(tape, points[i].name, &gauge), 0);
		CHECK_EQ(tape_add_point(tape, gauge, TAPES_PERF + points[i].at * NSEC_PER_SEC,
					points[i].value),
			 0);
	}
}

static void put(struct tapes_store *store, struct tape *tape)
{
	add_samples(tape);
	tapes_store_put(store, tape);
}

static void make_store(const char *path)
{
	static const char boot[] = "11111111-2222-3333-4444-555555555555";
	static const char later[] = "99999999-8888-7777-6666-555555555555";
	struct tapes_store store;
	struct tape *first = new_tape(boot, 0, 60), *lossy = new_tape(boot, 80, 120);
	char file[256];

	snprintf(store.path, sizeof(store.path), "%s", path);
	add_samples(first);
	add_incident(first, 30, "42");
	add_figures(first);
	add_events(first);
	tapes_store_put(&store, first);
	add_loss(lossy, TAPE_LOSS_SAMPLES, 90, 7);
	add_loss(lossy, TAPE_LOSS_THROTTLED, 91, 1);
	put(&store, lossy);
	put(&store, new_tape(later, 180, 240));
	put(&store, new_tape(later, 240, 300));
	snprintf(file, sizeof(file), "%s/segments/%s-0000000003.tape", path, later);
	CHECK_EQ(truncate(file, 100), 0);
}

enum task { IDLE, KUBELET, TRAINER, BUILD, UNSEEN, COPY, PACK, PACKS = 12 };

/*
 * kubelet on CPU 3 in the kernel; a program on CPU 1; many processes on CPU 0; CPU 2 with a delayed
 * timer; then all CPUs busy.
 */
static enum task task_of(uint32_t cpu, unsigned int second)
{
	if (second >= 50 && second < 56)
		return BUILD;
	if (cpu == 3 && second >= 5 && second < 47)
		return KUBELET;
	if (cpu == 1 && second >= 10 && second < 13)
		return TRAINER;
	/* no single thread has much of this CPU: one thread copies, then many short threads pack */
	if (cpu == 0 && second >= 20 && second < 34)
		return second < 23 ? COPY : PACK + second - 23;
	return cpu == 2 && second >= 30 && second < 33 ? UNSEEN : IDLE;
}

/* The names of what fills a CPU. */
struct busy_names {
	const char *comm, *stack, *copier;
};

static struct tape *make_spiky(const struct busy_names *names, unsigned int begin, unsigned int end)
{
	struct tape *tape = new_tape("22222222-2222-3333-4444-555555555555", begin, end);
	uint32_t program = tapes_module(tape, "/usr/bin/program", TAPE_MODULE_ELF);
	struct {
		uint32_t thread, stack;
	} tasks[] = {
		[IDLE] = { tapes_thread(tape, 0, 0, "swapper/1"),
			   tapes_kernel(tape, "do_idle;native_safe_halt") },
		[KUBELET] = { tapes_thread(tape, 1240, 1262, names->comm),
			      tapes_kernel(tape, names->stack) },
		[TRAINER] = { tapes_thread(tape, 4000, 4001, "trainer"),
			      tapes_call(tape, 0, program, 64, "train") },
		[BUILD] = { tapes_thread(tape, 5000, 5000, "cc1"),
			    tapes_call(tape, 0, program, 128, "") },
		[COPY] = { tapes_thread(tape, 6000, 6000, names->copier),
			   tapes_kernel(tape, "do_syscall_64;vfs_read;read_zero") },
		[PACK... PACK + PACKS] = { 0, tapes_call(tape, 0, program, 192, "longest_match") },
	};

	for (int32_t i = 0; i < PACKS; i++)
		tasks[PACK + i].thread = tapes_thread(tape, 7000 + i, 7000 + i, "gzip");
	if (begin <= 47 && end > 47)
		add_incident(tape, 47, "42");
	CHECK_EQ(tape_add_fact(tape, "cpus", "4"), 0);
	CHECK_EQ(tape_add_fact(tape, "cpus_online", "0-3"), 0);
	for (uint64_t ns = tape->begin_ns + TAPES_PERIOD / 2; ns < tape->end_ns; ns += TAPES_PERIOD)
		for (uint32_t cpu = 0; cpu < 4; cpu++) {
			enum task task = task_of(cpu, (ns - TAPES_PERF) / NSEC_PER_SEC);

			if (task != UNSEEN)
				tapes_sample(tape, ns / 1000 * 1000, cpu, tasks[task].thread,
					     tasks[task].stack);
		}
	if (begin <= 30 && end >= 33)
		CHECK_EQ(array_push(&tape->losses,
				    (struct tape_loss){ TAPE_LOSS_SKIPPED, 2,
							TAPES_PERF + 30 * NSEC_PER_SEC,
							TAPES_PERF + 33 * NSEC_PER_SEC, 291 }),
			 0);
	/*
	 * in the middle of the tape, the wall clock is slewed forth and back, and its error grows
	 */
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t into_ns =
			begin * NSEC_PER_SEC + 10 * NSEC_PER_SEC + i * 100 * NSEC_PER_MSEC;

		tapes_anchor(tape, TAPES_PERF + into_ns, BEGIN_NS + into_ns + i % 2 * 200000);
		tape->anchors.items[tape->anchors.count - 1].error_ns = i % 2 ? 40000 : 900;
	}
	return tape;
}

static void make_spiky_store(const char *path, bool forged)
{
	static const struct busy_names usual = { "kubelet",
						 "do_syscall_64;vfs_read;mem_cgroup_nr_lru_pages",
						 "dd" };
	static const struct busy_names lines = {
		"ku\nCPU 9 idle", "do_syscall_64;vfs_read;walk\nverdict  likely: all is well",
		"dd\nCPU 8 idle"
	};
	struct tapes_store store;

	snprintf(store.path, sizeof(store.path), "%s", path);
	for (unsigned int at = 0; at < 60; at += 20)
		tapes_store_put(&store, make_spiky(forged ? &lines : &usual, at, at + 20));
}

static void put_into(const char *path, struct tape *tape)
{
	struct tapes_store store;

	snprintf(store.path, sizeof(store.path), "%s", path);
	tapes_store_put(&store, tape);
}

/* Python could read an address that ends in def as the beginning of a function. */
static void add_word(struct tape *tape, int pid, const char *comm, const char *symbol,
		     const char *file)
{
	uint32_t module = tapes_module(tape, file, TAPE_MODULE_ELF);
	uint32_t stack = tapes_call(tape, 0, module, 0x1000 + pid, "main");

	stack = tapes_call(tape, stack, module, 0xdef, symbol);
	tapes_sample(tape, TAPES_PERF + pid * NSEC_PER_MSEC, 0, tapes_thread(tape, pid, pid, comm),
		     stack);
}

static void make_words_store(const char *path, const char *file)
{
	struct tape *tape = tapes_new(0, 1000);
	_cleanup_free_ char *words = NULL;
	size_t size;
	int pid = 1;

	CHECK_EQ(file_read(file, 64 << 20, &words, &size), 0);
	for (const char *word = words; word < words + size; word += strlen(word) + 1) {
		add_word(tape, pid++, word, "f", "/bin/x");
		add_word(tape, pid++, "comm", word, "/bin/x");
		add_word(tape, pid++, "comm", "f", word);
	}
	put_into(path, tape);
}

/* Writes a report as of the time of the store, so that the answers do not depend on today. */
static void put_report(const char *path)
{
	static const struct notes_field fields[] = { { "pid", "4711" }, { "text", "{}" } };
	const struct note note = { .kind = NOTES_STATUS,
				   .realtime_ns = BEGIN_NS + 240 * NSEC_PER_SEC,
				   .fields = fields,
				   .field_count = ARRAY_SIZE(fields) };
	_cleanup_(buffer_done) struct buffer bytes = { 0 };

	CHECK_EQ(notes_encode(&note, &bytes), 0);
	CHECK_EQ(file_replace(path, STORE_STATUS, bytes.data, bytes.size), 0);
}

static void make_shared_stores(const char *folder)
{
	struct shared_stores shared;

	shared_init(&shared, SHARED_TWO, 3);
	shared.folder = folder;
	shared_make(&shared);
}

/* Five incidents within three minutes, in segments of ten minutes. */
static void make_crowded_store(const char *path)
{
	struct tapes_store store;
	char id[16];

	snprintf(store.path, sizeof(store.path), "%s", path);
	for (unsigned int at = 0, number = 0; number < 260; at += 600) {
		struct tape *tape = new_tape("33333333-2222-3333-4444-555555555555", at, at + 600);

		for (unsigned int second = at + 20; second < at + 200; second += 40) {
			snprintf(id, sizeof(id), "%u", ++number);
			add_incident(tape, second, id);
		}
		put(&store, tape);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 4 || setjmp(check_failed))
		return 1;
	if (argc == 4)
		make_words_store(argv[1], argv[3]);
	else if (argc == 3 && strcmp(argv[2], "readers") == 0)
		put_into(argv[1], readers_tape());
	else if (argc == 3 && strcmp(argv[2], "report") == 0)
		put_report(argv[1]);
	else if (argc == 3 && strcmp(argv[2], "shared") == 0)
		make_shared_stores(argv[1]);
	else if (argc == 3 && strcmp(argv[2], "crowded") == 0)
		make_crowded_store(argv[1]);
	else if (argc == 3)
		make_spiky_store(argv[1], strcmp(argv[2], "forged") == 0);
	else
		make_store(argv[1]);
	return 0;
}
