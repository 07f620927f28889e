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
	/* The cost of the items that threads are working on. */
	uint64_t used_bytes;
	size_t next, done;
	int failed;
};

struct worker {
	struct pool *pool;
	unsigned int number;
	pthread_t thread;
};

/* Returns the cost of the next item, at least 1 byte, so that used_bytes is 0 only without work. */
static uint64_t cost_of_next(const struct pool *pool)
{
	const struct workers *workers = pool->workers;
	uint64_t bytes = workers->cost ? workers->cost(workers->context, pool->next) : 0;

	/* a foreign file may claim any size, and the sum must not overflow */
	return MIN(MAX(bytes, 1ull), MAX(workers->memory_bytes, 1ull));
}

static bool take_item(struct pool *pool, size_t *ret_item, uint64_t *ret_bytes)
{
	const struct workers *workers = pool->workers;
	bool taken;

	pthread_mutex_lock(&pool->lock);
	taken = !pool->failed && pool->next < workers->count &&
		(!pool->next || !workers->until_ns ||
		 clock_ns(CLOCK_MONOTONIC) < workers->until_ns);
	if (taken) {
		*ret_bytes = cost_of_next(pool);
		/* otherwise leave the item to a thread that is working now */
		taken = !workers->cost || !pool->used_bytes ||
			pool->used_bytes + *ret_bytes <= workers->memory_bytes;
	}
	if (taken) {
		*ret_item = pool->next++;
		pool->used_bytes += *ret_bytes;
	}
	pthread_mutex_unlock(&pool->lock);
	return taken;
}

static void end_item(struct pool *pool, uint64_t bytes, int r)
{
	const struct workers *workers = pool->workers;

	pthread_mutex_lock(&pool->lock);
	pool->used_bytes -= bytes;
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
	uint64_t bytes;
	size_t item;

	while (take_item(pool, &item, &bytes))
		end_item(pool, bytes,
			 pool->workers->work(pool->workers->context, worker->number, item));
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
