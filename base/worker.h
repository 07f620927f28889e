/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Helpers for all threads except the one that drains the ring buffers. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Starts a thread that blocks all signals, because the draining thread receives them. Returns 0 or
 * a negative errno.
 */
int worker_start(pthread_t *thread, void *(*body)(void *context), void *context);

/*
 * Initialises a lock, and a condition on the monotonic clock. A wait must not depend on the wall
 * clock, which can be set back.
 */
void worker_lock_init(pthread_mutex_t *lock, pthread_cond_t *changed);
void worker_lock_done(pthread_mutex_t *lock, pthread_cond_t *changed);

/* Returns the monotonic time one second from now, for pthread_cond_timedwait(). */
struct timespec worker_second_from_now(void);

/*
 * Waits until *ended is set; `lock` guards it and `changed` signals it. The caller holds the lock.
 * Returns false after the timeout.
 */
bool worker_await(pthread_mutex_t *lock, pthread_cond_t *changed, const bool *ended,
		  uint64_t timeout_ns);
