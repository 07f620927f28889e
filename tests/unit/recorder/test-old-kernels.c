// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands for old kernels, machines and missing rights by refusing features that they do not have.
 * The events are real; perf_event_open and mmap go through the test.
 */
#include "tests/check.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "recorder/perf/perf-dumps.h"
#include "recorder/perf/perf-events.h"
#include "tests/played-events.h"
#include "tests/scarce.h"

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

/* The kernel and the machine that the test imitates. */
static struct {
	/* 6.0 */
	bool knows_lost;
	/* 5.7 */
	bool knows_cgroup;
	/* 5.1 */
	bool knows_ksymbol;
	/* a new kernel that is built without cgroups */
	bool without_cgroups;
	bool has_cycles;
	bool cycles_silent;
	/* an errno that every event fails with */
	int refuses;
	/* 0: none */
	size_t ring_limit;
} host;

static void play_today(void)
{
	memset(&host, 0, sizeof(host));
	host.knows_lost = host.knows_cgroup = host.knows_ksymbol = true;
}

static int refusal(const struct perf_event_attr *attr)
{
	bool cycles = attr->type == PERF_TYPE_HARDWARE;

	if (host.refuses)
		return host.refuses;
	if ((attr->read_format & PERF_FORMAT_LOST) && !host.knows_lost)
		return EINVAL;
	if (attr->ksymbol && !host.knows_ksymbol)
		return EINVAL;
	if ((attr->cgroup || attr->sample_type & PERF_SAMPLE_CGROUP) && !host.knows_cgroup)
		return EINVAL;
	if ((attr->sample_type & PERF_SAMPLE_CGROUP) && host.without_cgroups)
		return EINVAL;
	return cycles && !host.has_cycles ? ENOENT : 0;
}

static long play_open_event(struct perf_event_attr *attr, long pid, long cpu, long group,
			    unsigned long flags)
{
	struct perf_event_attr asked = *attr;
	int code = refusal(attr);

	if (code) {
		errno = code;
		return -1;
	}
	if (asked.type == PERF_TYPE_HARDWARE) {
		asked.type = PERF_TYPE_SOFTWARE;
		asked.config = host.cycles_silent ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_CPU_CLOCK;
	}
	return __real_syscall(SYS_perf_event_open, &asked, pid, cpu, group, flags);
}

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (host.ring_limit && fd >= 0 && size > host.ring_limit + 4096) {
		errno = EPERM;
		return MAP_FAILED;
	}
	return __real_mmap(at, size, prot, flags, fd, offset);
}

/* perftape calls mmap() by this name, libperf by the other one. */
void *__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return __wrap_mmap(at, size, prot, flags, fd, offset);
}

static int count_samples(void *context, enum perf_ring ring, const uint8_t *bytes, size_t size)
{
	unsigned int *count = context;

	*count += ring == PERF_RING_SAMPLES && bytes[0] == PERF_TYPE_SAMPLE;
	return 0;
}

/* Opens events and keeps the CPU busy until samples come. */
static struct perf_events *opened(struct perf_events_options options)
{
	struct perf_events *events;
	struct error error = { 0 };
	unsigned int samples = 0;

	options.frequency = 997;
	if (perf_events_open(&options, &events, &error) < 0)
		CHECK_FAIL("%s", error.text);
	while (samples <= 10)
		CHECK_EQ(perf_events_drain(events, PERF_ALL_RINGS, count_samples, &samples), 0);
	return events;
}

/* Returns whether the kernel is too old for a feature, as opposed to missing rights. */
static bool lacks(const struct perf_events *events, const char *name)
{
	return strstr(perf_events_lacks(events), name);
}

static void test_ladder(void)
{
	struct perf_events *events;

	play_today();
	events = opened((struct perf_events_options){ 0 });
	CHECK(!lacks(events, "lost") && !lacks(events, "ksymbol") && !lacks(events, "cgroup"));
	perf_events_close(events);
	/* a kernel that is built without cgroups */
	host.without_cgroups = true;
	events = opened((struct perf_events_options){ 0 });
	CHECK(!lacks(events, "lost") && !lacks(events, "ksymbol") && lacks(events, "cgroup"));
	perf_events_close(events);
	/* 5.15 */
	host.knows_lost = host.without_cgroups = false;
	events = opened((struct perf_events_options){ 0 });
	CHECK(lacks(events, "lost") && !lacks(events, "ksymbol") && !lacks(events, "cgroup"));
	perf_events_close(events);
	/* 5.4 */
	host.knows_cgroup = false;
	events = opened((struct perf_events_options){ 0 });
	CHECK(lacks(events, "lost") && !lacks(events, "ksymbol") && lacks(events, "cgroup"));
	CHECK_EQ(perf_events_lost(events, 0), 0);
	perf_events_close(events);
	/* 4.18 */
	host.knows_ksymbol = false;
	events = opened((struct perf_events_options){ 0 });
	CHECK(lacks(events, "lost") && lacks(events, "ksymbol") && lacks(events, "cgroup"));
	perf_events_close(events);
}

static void test_cycles(void)
{
	struct perf_events_options cycles = { .event = "cycles", .frequency = 97 };
	struct perf_events *events;
	struct error error = { 0 };

	play_today();
	host.has_cycles = true;
	events = opened((struct perf_events_options){ 0 });
	CHECK_STR(perf_events_name(events), "cycles");
	CHECK_EQ(perf_events_timer_ns(events), 0);
	perf_events_close(events);
	/* a virtual machine that accepts cycles but never counts them */
	host.cycles_silent = true;
	events = opened((struct perf_events_options){ 0 });
	CHECK_STR(perf_events_name(events), "cpu-clock");
	CHECK(perf_events_timer_ns(events));
	perf_events_close(events);
	CHECK(perf_events_open(&cycles, &events, &error) < 0);
	CHECK(strstr(error.text, "delivers none"));
	host.has_cycles = false;
	CHECK_EQ(perf_events_open(&cycles, &events, &error), -ENOENT);
	CHECK_STR(error.text,
		  "perf event cycles: not on this machine; omit --event or use cpu-clock");
}

static void check_refused(int code, const char *said)
{
	struct perf_events_options options = { .frequency = 97 };
	struct perf_events *events;
	struct error error = { 0 };

	play_today();
	host.refuses = code;
	CHECK_EQ(perf_events_open(&options, &events, &error), -code);
	if (!strstr(error.text, said))
		CHECK_FAIL("%d: %s", code, error.text);
}

static void test_refused(void)
{
	check_refused(EACCES, "seccomp");
	check_refused(EPERM, "seccomp");
	check_refused(EMFILE, "RLIMIT_NOFILE");
	check_refused(ENFILE, "fs.file-max");
	check_refused(ENOSYS, "not on this machine");
	check_refused(EINVAL, "Invalid argument");
}

/* If the rings for whole copies of stacks are too large, the copies become smaller. */
static void test_dumps_limit(void)
{
	struct perf_events *events;
	size_t stack_bytes, ring_bytes;

	play_today();
	host.ring_limit = 4 << 20;
	events = opened(
		(struct perf_events_options){ .ring_bytes = 64 << 10, .stack_bytes = 16384 });
	stack_bytes = perf_dumps_bytes(events, &ring_bytes);
	CHECK(stack_bytes == 8192 || stack_bytes == 4096);
	CHECK(ring_bytes >= 64 * stack_bytes && ring_bytes <= host.ring_limit);
	perf_events_close(events);
}

/* Each allocation fails once: the events are open, or the error says that memory is short. */
static void test_scarce(void)
{
	struct perf_events_options options = { .frequency = 97 };
	bool failed = true;

	play_today();
	for (unsigned int i = 1; failed; i++) {
		struct perf_events *events = NULL;
		struct error error = { 0 };
		int r;

		scarce_begin(i);
		r = perf_events_open(&options, &events, &error);
		failed = scarce_end();
		if (r != 0)
			CHECK_EQ(r, -ENOMEM);
		CHECK_EQ(!events, r < 0);
		CHECK(failed || events);
		if (events)
			perf_events_close(events);
	}
}

/*
 * If the user does not give a size, the ring buffers become smaller. If the user gives a size, the
 * error names the limit.
 */
static void test_ring_limit(void)
{
	struct perf_events_options large = { .frequency = 97, .ring_bytes = 1 << 20 };
	struct perf_events *events;
	struct error error = { 0 };
	uint64_t all;

	play_today();
	host.ring_limit = 128 << 10;
	events = opened((struct perf_events_options){ 0 });
	CHECK(perf_events_ring_bytes(events, &all) <= 128 << 10);
	CHECK(all >= perf_events_cpus(events) * 2 * perf_events_ring_bytes(events, &all));
	perf_events_close(events);
	CHECK_EQ(perf_events_open(&large, &events, &error), -ENOBUFS);
	CHECK(strstr(error.text, "two rings of 1024 KB per CPU"));
	CHECK(strstr(error.text, "CAP_IPC_LOCK"));
	host.ring_limit = 4096;
	CHECK_EQ(
		perf_events_open(&(struct perf_events_options){ .frequency = 97 }, &events, &error),
		-ENOBUFS);
}

int main(void)
{
	static const struct check_test tests[] = {
		{ "what an old kernel lacks is left out", test_ladder },
		{ "cycles are used only where they are counted", test_cycles },
		{ "an error names what would help", test_refused },
		{ "rings are as large as the limits allow", test_ring_limit },
		{ "copies of stacks are as large as the limits allow", test_dumps_limit },
		{ "each allocation may fail", test_scarce },
	};

	if (geteuid() == 0)
		return check_run(tests, ARRAY_SIZE(tests));
	printf("1..%zu\n", ARRAY_SIZE(tests));
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		printf("ok %zu - %s # SKIP events of all CPUs take root\n", i + 1, tests[i].name);
	return 0;
}
