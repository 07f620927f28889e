// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures what a program loses to the samples of its CPU, caches included. The program follows
 * pointers in a working set, on a CPU of its own, before all other programs. In turns, it runs
 * without an event, with the event that takes samples, and with the second event that also copies
 * the stack, 16 KB by default, as the recorder opens them. The median of the turns counts. The last
 * column compares the interrupts of the program's CPU, with a copy and without: 1 if both events
 * fire in one interrupt.
 *
 *   bench-slowdown HZ SECONDS [BYTES]     SECONDS for each working set, BYTES of each stack
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define TURN_NS (100 * NSEC_PER_MSEC)
#define TURNS_MAX 1000
#define PAGE 4096
/* So large that it is never full, and never in a cache when the kernel writes a copy. */
#define RING (16u << 20)
/* The program uses more stack than any copy has. */
#define STACK_USED (80 << 10)
/* The registers of x86-64 that a walk needs. */
#define REGISTERS 0xff01ff
#define LINE 64

enum way { WITHOUT, SAMPLES, COPIES, WAYS };

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/* Written by the program. */
static volatile uint64_t *steps;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Returns how often the local timer has interrupted the program's CPU. */
static uint64_t interrupts(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/interrupts", "re");
	char line[4096];
	unsigned long long count = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " LOC: %llu", &count) == 1)
			break;
	return count;
}

/* Follows the pointers of a random cycle through the lines of the working set, for ever. */
static void follow(size_t bytes)
{
	uint32_t lines = bytes / LINE, at = 0;
	uint32_t *words = aligned_alloc(PAGE, bytes), *order = calloc(lines, sizeof(*order));
	volatile uint8_t stack[STACK_USED];

	if (!words || !order)
		_exit(1);
	/* the copy ends at the first page that is not there */
	for (size_t i = 0; i < sizeof(stack); i += PAGE)
		stack[i] = 1;
	for (uint32_t i = 0; i < lines; i++)
		order[i] = i;
	for (uint32_t i = lines - 1; i; i--) {
		uint32_t other = (uint32_t)rand() % i, kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (uint32_t i = 0; i < lines; i++)
		words[order[i] * (LINE / 4)] = order[(i + 1) % lines] * (LINE / 4);
	for (;;) {
		for (int i = 0; i < 1000; i++)
			at = words[at];
		steps[0] += 1000;
		steps[1] = at;
	}
}

static pid_t start(size_t bytes)
{
	const struct sched_param first = { .sched_priority = 1 };
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(0);
	sched_setscheduler(0, SCHED_FIFO, &first);
	follow(bytes);
	_exit(0);
}

static struct ring open_event(unsigned int hertz, uint32_t stack_bytes, int leader)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NSEC_PER_SEC / hertz,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN |
			       (stack_bytes ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0),
		.sample_regs_user = stack_bytes ? REGISTERS : 0,
		.sample_stack_user = stack_bytes,
		.disabled = leader < 0,
		.watermark = 1,
		.wakeup_watermark = RING / 2,
	};
	struct ring ring = { .fd = syscall(SYS_perf_event_open, &attr, -1, 0, leader, 0) };

	ring.page = mmap(NULL, PAGE + RING, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (ring.fd < 0 || ring.page == MAP_FAILED) {
		perror("bench-slowdown: event");
		exit(1);
	}
	return ring;
}

static void empty(const struct ring *ring)
{
	__atomic_store_n(&ring->page->data_tail,
			 __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

/*
 * Gives both events a whole period, and starts the leader, which starts both timers at once. So the
 * events fire in one interrupt.
 */
static void enable(int fd, const struct ring pair[2], uint64_t period)
{
	ioctl(pair[0].fd, PERF_EVENT_IOC_PERIOD, &period);
	ioctl(pair[1].fd, PERF_EVENT_IOC_PERIOD, &period);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* Returns steps per second of one turn. */
static double run_turn(enum way way, const struct ring *alone, const struct ring pair[2],
		       uint64_t period, uint64_t *interrupted)
{
	int fd = way == SAMPLES ? alone->fd : pair[0].fd;
	uint64_t begin_ns, before;
	double rate;

	if (way != WITHOUT)
		enable(fd, pair, period);
	*interrupted -= interrupts();
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	before = steps[0];
	while (clock_ns(CLOCK_MONOTONIC) - begin_ns < TURN_NS) {
		usleep(10000);
		empty(alone);
		empty(&pair[0]);
		empty(&pair[1]);
	}
	rate = (double)(steps[0] - before) * NSEC_PER_SEC /
	       (double)(clock_ns(CLOCK_MONOTONIC) - begin_ns);
	*interrupted += interrupts();
	if (way != WITHOUT)
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return rate;
}

static int compare(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static void measure(size_t bytes, unsigned int hertz, unsigned int turns, uint32_t stack_bytes)
{
	static double rates[WAYS][TURNS_MAX];
	const struct ring alone = open_event(hertz, 0, -1);
	struct ring pair[2] = { open_event(hertz, 0, -1) };
	pid_t pid = start(bytes);
	uint64_t interrupted[WAYS] = { 0 };
	double cost_ns[WAYS];

	pair[1] = open_event(hertz, stack_bytes, pair[0].fd);
	usleep(300000);
	for (unsigned int turn = 0; turn < turns; turn++)
		for (enum way way = WITHOUT; way < WAYS; way++)
			rates[way][turn] = run_turn(way, &alone, pair, NSEC_PER_SEC / hertz,
						    &interrupted[way]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (enum way way = WITHOUT; way < WAYS; way++) {
		qsort(rates[way], turns, sizeof(double), compare);
		cost_ns[way] = (1 - rates[way][turns / 2] / rates[WITHOUT][turns / 2]) *
			       NSEC_PER_SEC / hertz;
	}
	printf("| %zu KB | %.1f us | %.1f us | %.1f us | %.3f %% | %.2f times |\n", bytes >> 10,
	       cost_ns[SAMPLES] / 1e3, cost_ns[COPIES] / 1e3,
	       (cost_ns[COPIES] - cost_ns[SAMPLES]) / 1e3,
	       100 * 97 * (cost_ns[COPIES] - cost_ns[SAMPLES]) / NSEC_PER_SEC,
	       (double)interrupted[COPIES] / (double)MAX(interrupted[SAMPLES], (uint64_t)1));
	fflush(stdout);
	close(alone.fd);
	close(pair[0].fd);
	close(pair[1].fd);
	munmap(alone.page, PAGE + RING);
	munmap(pair[0].page, PAGE + RING);
	munmap(pair[1].page, PAGE + RING);
}

int main(int argc, char **argv)
{
	static const size_t sets[] = { 32 << 10, 256 << 10, 1 << 20, 8 << 20 };
	unsigned int hertz = argc > 1 ? strtoul(argv[1], NULL, 10) : 4656;
	unsigned int seconds = argc > 2 ? strtoul(argv[2], NULL, 10) : 6;
	unsigned int stack_bytes = argc > 3 ? strtoul(argv[3], NULL, 10) / 8 * 8 : 16384;
	unsigned int turns = MIN(MAX(seconds * 10 / WAYS, 1u), (unsigned int)TURNS_MAX);

	steps = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pin(1);
	puts("| working set | a sample | with a copy | added | added at 97 Hz | interrupts |\n"
	     "| --- | --- | --- | --- | --- | --- |");
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		measure(sets[i], hertz, turns, stack_bytes);
	return 0;
}
