/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * A clock that only the test moves, so that nothing depends on how fast the machine is. It applies
 * to the test and to the processes that the test forks. CPU clocks stay real.
 *
 * Link the test with --wrap=clock_ns (tests/meson.build), and include this file in one file of the
 * test.
 *
 * FAKE_CLOCK_RUNS_REALTIME: CLOCK_REALTIME goes on, for code that compares it with times of files.
 * FAKE_CLOCK_WAITS: timed waits follow this clock too; link with --wrap=pthread_cond_timedwait.
 * FAKE_CLOCK_POLLS: poll() does; link with --wrap=poll.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/clock.h"

uint64_t __real_clock_ns(clockid_t clock);
uint64_t __wrap_clock_ns(clockid_t clock);

/* The processes that the test forks share this state. */
struct fake_clock {
	uint64_t realtime_ns;
	uint64_t monotonic_ns;
	uint64_t boottime_ns;
	_Atomic uint64_t passed_ns;
	/* How often the code under test read the clock. */
	_Atomic uint64_t reads;
	/* A timed wait moves the clock by its step of a millisecond. */
	_Atomic bool waits_pass;
};

static struct fake_clock *fake_clock;

__attribute__((constructor)) static void fake_clock_init(void)
{
	fake_clock = mmap(NULL, sizeof(*fake_clock), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fake_clock == MAP_FAILED)
		abort();
	fake_clock->realtime_ns = __real_clock_ns(CLOCK_REALTIME);
	fake_clock->monotonic_ns = __real_clock_ns(CLOCK_MONOTONIC);
	fake_clock->boottime_ns = __real_clock_ns(CLOCK_BOOTTIME);
}

static inline void fake_clock_pass(uint64_t ns)
{
	atomic_fetch_add(&fake_clock->passed_ns, ns);
}

uint64_t __wrap_clock_ns(clockid_t clock)
{
	uint64_t passed_ns = fake_clock->passed_ns;

	atomic_fetch_add(&fake_clock->reads, 1);
	switch (clock) {
	case CLOCK_REALTIME:
#ifdef FAKE_CLOCK_RUNS_REALTIME
		return __real_clock_ns(clock) + passed_ns;
#else
		return fake_clock->realtime_ns + passed_ns;
#endif
	case CLOCK_MONOTONIC:
		return fake_clock->monotonic_ns + passed_ns;
	case CLOCK_BOOTTIME:
		return fake_clock->boottime_ns + passed_ns;
	default:
		return __real_clock_ns(clock);
	}
}

#ifdef FAKE_CLOCK_WAITS
#define FAKE_CLOCK_STEP_NS NSEC_PER_MSEC

int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until);

static bool fake_clock_is_past(const struct timespec *until)
{
	return clock_ns(CLOCK_MONOTONIC) >= until->tv_sec * NSEC_PER_SEC + until->tv_nsec;
}

/*
 * Returns 0 early now and then, as every condition variable may. The condition uses
 * CLOCK_MONOTONIC.
 */
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				  const struct timespec *until)
{
	uint64_t step_ns = __real_clock_ns(CLOCK_MONOTONIC) + FAKE_CLOCK_STEP_NS;
	const struct timespec step = { step_ns / NSEC_PER_SEC, step_ns % NSEC_PER_SEC };

	if (fake_clock_is_past(until))
		return ETIMEDOUT;
	__real_pthread_cond_timedwait(cond, mutex, &step);
	if (fake_clock->waits_pass)
		fake_clock_pass(FAKE_CLOCK_STEP_NS);
	return fake_clock_is_past(until) ? ETIMEDOUT : 0;
}
#endif

#ifdef FAKE_CLOCK_POLLS
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + timeout_ms * NSEC_PER_MSEC;
	int ready = __real_poll(fds, count, MIN(timeout_ms, 0));

	while (ready == 0 && clock_ns(CLOCK_MONOTONIC) < until_ns)
		ready = __real_poll(fds, count, 1);
	return ready;
}
#endif
