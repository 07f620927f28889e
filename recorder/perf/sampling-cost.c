// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/sampling-cost.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/*
 * The event is of this thread alone, not of a CPU: nobody else is slowed down, and other threads on
 * the CPU do not count. So it is opened here and not by perf-channel.c, whose lists are of CPUs.
 *
 * Time is the thread's CPU time, so that being taken off the CPU costs nothing, and the median of
 * many short slices, so that a slice into which other interrupts fell does not count.
 */

#define SLICES 7
#define SLICE_NS NSEC_PER_MSEC
/* 4 % to 20 % of a slice are samples then, far above what slices differ by; below the rate at which
 * the kernel throttles. */
#define PERIOD_NS (100 * NSEC_PER_USEC)
#define RING_PAGES 64
#define SHALLOW 4
#define DEEP 68

struct sampling {
	const _Atomic bool *stop;
	int fd;
	struct perf_event_mmap_page *ring;
	/* of the loop, for a slice */
	uint64_t turns;
	/* what a slice took, without and with samples */
	uint64_t before[SLICES], during[SLICES];
};

/* Not inlined, and never the last call of its caller: each is a frame. */
static __attribute__((noinline)) uint64_t sampling_cost_spin(uint64_t turns)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (uint64_t i = 0; i < turns; i++)
		__asm__ volatile("" : : "r"(i) : "memory");
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static __attribute__((noinline)) uint64_t spin_below(unsigned int depth, uint64_t turns)
{
	uint64_t took_ns = depth ? spin_below(depth - 1, turns) : sampling_cost_spin(turns);

	__asm__ volatile("" : "+r"(took_ns));
	return took_ns;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static uint64_t sampling_cost_median(uint64_t times[SLICES])
{
	qsort(times, SLICES, sizeof(*times), compare_times);
	return times[SLICES / 2];
}

/* What the event has counted: of a clock, nanoseconds. */
static uint64_t count_ns(const struct sampling *sampling)
{
	uint64_t count = 0;

	return read(sampling->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* What one sample cost in picoseconds, so deep. */
static int sampling_cost_measure_here(struct sampling *sampling, unsigned int depth,
				      uint64_t *ret_cost_ps)
{
	uint64_t counted = count_ns(sampling), before, during;

	for (size_t i = 0; i < SLICES; i++) {
		if (*sampling->stop)
			return -ECANCELED;
		sampling->before[i] = spin_below(depth, sampling->turns);
		ioctl(sampling->fd, PERF_EVENT_IOC_ENABLE, 0);
		sampling->during[i] = spin_below(depth, sampling->turns);
		ioctl(sampling->fd, PERF_EVENT_IOC_DISABLE, 0);
		/* nobody reads them, and a full ring is written to more cheaply */
		__atomic_store_n(&sampling->ring->data_tail,
				 __atomic_load_n(&sampling->ring->data_head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
	counted = count_ns(sampling) - counted;
	if (counted < SLICES * PERIOD_NS)
		return -ENODATA;
	before = sampling_cost_median(sampling->before);
	during = sampling_cost_median(sampling->during);
	*ret_cost_ps = (double)(during - MIN(before, during)) * 1000 * SLICES * PERIOD_NS / counted;
	return 0;
}

static int measure_both(struct sampling *sampling, struct sampling_cost *ret_cost)
{
	uint64_t shallow_ps, deep_ps, took_ns = sampling_cost_spin(100000);
	int r;

	sampling->turns = 100000 * SLICE_NS / MAX(took_ns, 1ull);
	r = sampling_cost_measure_here(sampling, SHALLOW, &shallow_ps);
	if (r == 0)
		r = sampling_cost_measure_here(sampling, DEEP, &deep_ps);
	if (r < 0)
		return r;
	ret_cost->frame_ps = (deep_ps - MIN(shallow_ps, deep_ps)) / (DEEP - SHALLOW);
	ret_cost->sample_ns = (shallow_ps - MIN(shallow_ps, SHALLOW * ret_cost->frame_ps)) / 1000;
	return 0;
}

int sampling_cost_measure(const _Atomic bool *stop, struct sampling_cost *ret_cost)
{
	struct perf_event_attr attr = {
		.size = PERF_ATTR_SIZE_VER0,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
	};
	size_t bytes = (1 + RING_PAGES) * sysconf(_SC_PAGESIZE);
	struct sampling sampling = { .stop = stop };
	_cleanup_close_ int fd =
		syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	sampling.fd = fd;
	sampling.ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (sampling.ring == MAP_FAILED)
		return -errno;
	r = measure_both(&sampling, ret_cost);
	munmap(sampling.ring, bytes);
	return r;
}
