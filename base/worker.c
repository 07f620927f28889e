// SPDX-License-Identifier: GPL-2.0-only
#include "base/worker.h"

#include <signal.h>

#include "base/clock.h"

int worker_start(pthread_t *thread, void *(*body)(void *context), void *context)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(thread, NULL, body, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

void worker_lock_init(pthread_mutex_t *lock, pthread_cond_t *changed)
{
	pthread_condattr_t clock;

	pthread_mutex_init(lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(changed, &clock);
	pthread_condattr_destroy(&clock);
}

void worker_lock_done(pthread_mutex_t *lock, pthread_cond_t *changed)
{
	pthread_cond_destroy(changed);
	pthread_mutex_destroy(lock);
}

struct timespec worker_second_from_now(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1;
	return until;
}

bool worker_await(pthread_mutex_t *lock, pthread_cond_t *changed, const bool *ended,
		  uint64_t timeout_ns)
{
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	struct timespec until = { until_ns / NSEC_PER_SEC, until_ns % NSEC_PER_SEC };
	int r = 0;

	while (!*ended && r == 0)
		r = pthread_cond_timedwait(changed, lock, &until);
	return *ended;
}
