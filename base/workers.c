// SPDX-License-Identifier: GPL-2.0-only
#include "base/workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* The lock guards all members that change. */
struct pool {
	const struct workers *workers;
	pthread_mutex_t lock;
	size_t next, done;
	int failed;
};

struct worker {
	struct pool *pool;
	unsigned int number;
	pthread_t thread;
};

static bool take_item(struct pool *pool, size_t *ret_item)
{
	const struct workers *workers = pool->workers;
	bool taken;

	pthread_mutex_lock(&pool->lock);
	taken = !pool->failed && pool->next < workers->count &&
		(!pool->next || !workers->until_ns ||
		 clock_ns(CLOCK_MONOTONIC) < workers->until_ns);
	if (taken)
		*ret_item = pool->next++;
	pthread_mutex_unlock(&pool->lock);
	return taken;
}

static void end_item(struct pool *pool, int r)
{
	const struct workers *workers = pool->workers;

	pthread_mutex_lock(&pool->lock);
	if (r < 0 && !pool->failed)
		pool->failed = r;
	pool->done++;
	if (workers->progress)
		workers->progress(workers->progress_context, pool->done, workers->count);
	pthread_mutex_unlock(&pool->lock);
}

static void *worker_main(void *context)
{
	struct worker *worker = context;
	struct pool *pool = worker->pool;
	size_t item;

	while (take_item(pool, &item))
		end_item(pool, pool->workers->work(pool->workers->context, worker->number, item));
	return NULL;
}

int workers_run(const struct workers *workers, size_t *ret_done)
{
	size_t count = MIN((size_t)workers->threads, workers->count);
	_cleanup_free_ struct worker *all = calloc(MAX(count, (size_t)1), sizeof(*all));
	struct pool pool = { .workers = workers, .lock = PTHREAD_MUTEX_INITIALIZER };
	size_t started = 1;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < MAX(count, (size_t)1); i++)
		all[i] = (struct worker){ .pool = &pool, .number = i };
	while (started < count &&
	       pthread_create(&all[started].thread, NULL, worker_main, &all[started]) == 0)
		started++;
	worker_main(&all[0]);
	for (size_t i = 1; i < started; i++)
		pthread_join(all[i].thread, NULL);
	pthread_mutex_destroy(&pool.lock);
	*ret_done = pool.done;
	return pool.failed;
}
