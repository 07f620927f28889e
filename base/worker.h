/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* What the threads beside the drain have in common. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Signals are for the thread that drains: the new one takes none. 0 or a negative errno. */
int worker_start(pthread_t *thread, void *(*body)(void *context), void *context);

/* A lock, and a condition that waits by the monotonic clock: the wall clock may be set back while
 * somebody waits. */
void worker_lock_init(pthread_mutex_t *lock, pthread_cond_t *changed);
void worker_lock_done(pthread_mutex_t *lock, pthread_cond_t *changed);

/* By that clock, for pthread_cond_timedwait(). */
struct timespec worker_second_from_now(void);

/* Waits until *ended, which the lock guards and `changed` tells of; with the lock held. False: not
 * within that time. */
bool worker_await(pthread_mutex_t *lock, pthread_cond_t *changed, const bool *ended,
		  uint64_t timeout_ns);
