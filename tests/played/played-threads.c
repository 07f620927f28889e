// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads, and their waits. A thread waits if it is in one of the wrapped functions, and what it
 * waits for has not happened. A thread that wakes another one clears the other's `waits` first,
 * because the other one is about to run and must not count as waiting.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/played/played.h"

#define THREADS_MAX 64
/* The interval at which a waiting thread checks its condition. */
#define LOOK_NS (5 * NSEC_PER_MSEC)
/* A thread that takes longer hangs; the machine then goes on without it. */
#define SETTLE_TRIES 30000

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
			  void *context);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __real_pthread_cond_broadcast(pthread_cond_t *cond);
int __real_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __real_usleep(useconds_t us);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
			  void *context);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

struct played_thread {
	void *(*body)(void *);
	void *context;
	bool used, waits;
	pthread_cond_t *cond;
	/* the files of its poll() */
	struct pollfd *fds;
	nfds_t fd_count;
	/* when its wait ends on the machine's clock */
	uint64_t until_ns;
};

static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct played_thread threads[THREADS_MAX];
static _Thread_local struct played_thread *threads_own;

bool played_is_first_thread(void)
{
	return !threads_own;
}

static void *threads_main(void *context)
{
	struct played_thread *thread = context;
	void *result;

	threads_own = thread;
	played_starve(true);
	result = thread->body(thread->context);
	pthread_mutex_lock(&threads_lock);
	thread->used = false;
	pthread_mutex_unlock(&threads_lock);
	return result;
}

static struct played_thread *threads_add(void *(*body)(void *), void *context)
{
	struct played_thread *found = NULL;

	pthread_mutex_lock(&threads_lock);
	for (size_t i = 0; i < THREADS_MAX && !found; i++)
		if (!threads[i].used)
			found = &threads[i];
	if (found)
		*found = (struct played_thread){ .body = body, .context = context, .used = true };
	pthread_mutex_unlock(&threads_lock);
	return found;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
			  void *context)
{
	struct played_thread *added = played() ? threads_add(body, context) : NULL;
	int r;

	if (!added)
		return __real_pthread_create(thread, attr, body, context);
	r = __real_pthread_create(thread, attr, threads_main, added);
	if (r)
		added->used = false;
	return r;
}

static bool threads_still_waits(const struct played_thread *thread)
{
	bool waits;

	pthread_mutex_lock(&threads_lock);
	waits = thread->waits;
	pthread_mutex_unlock(&threads_lock);
	return waits;
}

static void threads_set(struct played_thread *thread, const struct played_thread *to)
{
	pthread_mutex_lock(&threads_lock);
	thread->waits = to->waits;
	thread->cond = to->cond;
	thread->fds = to->fds;
	thread->fd_count = to->fd_count;
	thread->until_ns = to->until_ns;
	pthread_mutex_unlock(&threads_lock);
}

/*
 * Begins a wait. Only played_wake() ends it for the time that passed: by then the files of the
 * machine show that time.
 */
static void threads_begin_wait(struct played_thread waiting)
{
	waiting.waits = waiting.until_ns > played_now_ns();
	threads_set(threads_own, &waiting);
}

/* Waits in real time until the next check. */
static void threads_wait_a_little(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	struct timespec until;

	__real_clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_NS;
	if (until.tv_nsec >= (long)NSEC_PER_SEC) {
		until.tv_nsec -= NSEC_PER_SEC;
		until.tv_sec++;
	}
	__real_pthread_cond_timedwait(cond, lock, &until);
}

/* The first thread waits for other threads; the played time stops meanwhile. */
static int threads_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
	static const struct played_thread running;

	if (!threads_own) {
		threads_wait_a_little(cond, lock);
		return 0;
	}
	threads_begin_wait((struct played_thread){ .cond = cond, .until_ns = until_ns });
	while (threads_still_waits(threads_own))
		threads_wait_a_little(cond, lock);
	threads_set(threads_own, &running);
	return until_ns <= played_now_ns() ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	return played() ? threads_wait(cond, lock, UINT64_MAX)
			: __real_pthread_cond_wait(cond, lock);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	if (!played())
		return __real_pthread_cond_timedwait(cond, lock, until);
	return threads_wait(cond, lock, until->tv_sec * NSEC_PER_SEC + until->tv_nsec);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	if (played()) {
		pthread_mutex_lock(&threads_lock);
		for (size_t i = 0; i < THREADS_MAX; i++)
			if (threads[i].cond == cond)
				threads[i].waits = false;
		pthread_mutex_unlock(&threads_lock);
	}
	return __real_pthread_cond_broadcast(cond);
}

/*
 * Plays the wait of the thread that reads the kernel's log. A thread that waits for one other file
 * waits for another process, which is real.
 */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	const uint64_t until_ns =
		timeout_ms < 0 ? UINT64_MAX : played_now_ns() + timeout_ms * NSEC_PER_MSEC;
	static const struct played_thread running;
	int r = 0;

	if (!played() || !threads_own || count < 2)
		return __real_poll(fds, count, timeout_ms);
	threads_begin_wait(
		(struct played_thread){ .fds = fds, .fd_count = count, .until_ns = until_ns });
	while (r == 0 && threads_still_waits(threads_own))
		r = __real_poll(fds, count, LOOK_NS / NSEC_PER_MSEC);
	threads_set(threads_own, &running);
	return r;
}

static bool threads_is_ready(const struct played_thread *thread)
{
	struct pollfd fds[4];

	if (!thread->fd_count)
		return false;
	memcpy(fds, thread->fds, MIN(thread->fd_count, 4) * sizeof(*fds));
	return __real_poll(fds, MIN(thread->fd_count, 4), 0) > 0;
}

static bool threads_all_wait(void)
{
	bool all = true;

	pthread_mutex_lock(&threads_lock);
	for (size_t i = 0; i < THREADS_MAX && all; i++)
		all = !threads[i].used || (threads[i].waits && !threads_is_ready(&threads[i]));
	pthread_mutex_unlock(&threads_lock);
	return all;
}

void played_settle(void)
{
	for (unsigned int i = 0; i < SETTLE_TRIES && !threads_all_wait(); i++)
		__real_usleep(1000);
}

void played_wake(void)
{
	pthread_mutex_lock(&threads_lock);
	for (size_t i = 0; i < THREADS_MAX; i++)
		if (threads[i].used && threads[i].until_ns <= played_now_ns())
			threads[i].waits = false;
	pthread_mutex_unlock(&threads_lock);
}
