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
 * The event counts this thread only, so it does not slow other threads down, and they do not
 * disturb the measurement. perf-channel.c opens events of CPUs, so this file opens the event
 * itself.
 *
 * The thread's CPU time is measured, so that losing the CPU does not distort the result. The result
 * is the median of short slices, so that a slice with other interrupts does not count.
 */

#define SLICES 7
#define SLICE_NS NSEC_PER_MSEC
/*
 * With this period, samples take 4 % to 20 % of a slice, far more than slices differ. The rate
 * stays below the kernel's limit for throttling.
 */
#define PERIOD_NS (100 * NSEC_PER_USEC)
#define RING_PAGES 64
#define SHALLOW 4
#define DEEP 68

struct sampling {
	const _Atomic bool *stop;
	int fd;
	struct perf_event_mmap_page *ring;
	/* Iterations of the loop in one slice. */
	uint64_t turns;
	/* Time of each slice without and with samples. */
	uint64_t before[SLICES], during[SLICES];
};

/*
 * Returns the CPU time of the loop. The compiler must not inline it or make it a tail call, because
 * each call must be a frame.
 */
static __attribute__((noinline)) uint64_t sampling_cost_spin(uint64_t turns)
{
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (uint64_t i = 0; i < turns; i++)
		__asm__ volatile("" : : "r"(i) : "memory");
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static __attribute__((noinline)) uint64_t sampling_cost_spin_below(unsigned int depth,
								   uint64_t turns)
{
	uint64_t took_ns =
		depth ? sampling_cost_spin_below(depth - 1, turns) : sampling_cost_spin(turns);

	__asm__ volatile("" : "+r"(took_ns));
	return took_ns;
}

static int sampling_cost_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static uint64_t sampling_cost_median(uint64_t times[SLICES])
{
	qsort(times, SLICES, sizeof(*times), sampling_cost_compare);
	return times[SLICES / 2];
}

/* Returns the count of the event, which is a clock and counts nanoseconds. */
static uint64_t sampling_cost_count_ns(const struct sampling *sampling)
{
	uint64_t count = 0;

	return read(sampling->fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* Measures the picoseconds of one sample at this stack depth. */
static int sampling_cost_measure_depth(struct sampling *sampling, unsigned int depth,
				       uint64_t *ret_cost_ps)
{
	uint64_t counted = sampling_cost_count_ns(sampling), before, during;

	for (size_t i = 0; i < SLICES; i++) {
		if (*sampling->stop)
			return -ECANCELED;
		sampling->before[i] = sampling_cost_spin_below(depth, sampling->turns);
		ioctl(sampling->fd, PERF_EVENT_IOC_ENABLE, 0);
		sampling->during[i] = sampling_cost_spin_below(depth, sampling->turns);
		ioctl(sampling->fd, PERF_EVENT_IOC_DISABLE, 0);
		/*
		 * Discard the samples: writing to a full ring is cheaper and would spoil the
		 * measurement.
		 */
		__atomic_store_n(&sampling->ring->data_tail,
				 __atomic_load_n(&sampling->ring->data_head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
	counted = sampling_cost_count_ns(sampling) - counted;
	if (counted < SLICES * PERIOD_NS)
		return -ENODATA;
	before = sampling_cost_median(sampling->before);
	during = sampling_cost_median(sampling->during);
	*ret_cost_ps = (double)(during - MIN(before, during)) * 1000 * SLICES * PERIOD_NS / counted;
	return 0;
}

static int sampling_cost_measure_both(struct sampling *sampling, struct sampling_cost *ret_cost)
{
	uint64_t shallow_ps, deep_ps, took_ns = sampling_cost_spin(100000);
	int r;

	sampling->turns = 100000 * SLICE_NS / MAX(took_ns, 1ull);
	r = sampling_cost_measure_depth(sampling, SHALLOW, &shallow_ps);
	if (r < 0)
		return r;
	r = sampling_cost_measure_depth(sampling, DEEP, &deep_ps);
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
	r = sampling_cost_measure_both(&sampling, ret_cost);
	munmap(sampling.ring, bytes);
	return r;
}
