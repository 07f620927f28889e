// SPDX-License-Identifier: GPL-2.0-only
/* Threads take items in turn. At most as many threads work as the memory allows. */
#include "tests/check.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/workers.h"
#include "tests/wait.h"

#define ITEMS 40
#define THREADS 8

struct job {
	uint64_t cost;
	atomic_uint running, most, done[ITEMS];
	/* The work waits until `together` threads work. */
	unsigned int together;
	int fail_at;
};

static uint64_t job_cost(void *context, size_t item)
{
	struct job *job = context;

	(void)item;
	return job->cost;
}

static int job_work(void *context, unsigned int worker, size_t item)
{
	struct job *job = context;
	unsigned int now = atomic_fetch_add(&job->running, 1) + 1, most = atomic_load(&job->most);

	(void)worker;
	while (most < now && !atomic_compare_exchange_weak(&job->most, &most, now))
		;
	WAIT_UNTIL(atomic_load(&job->most) >= job->together);
	atomic_fetch_add(&job->done[item], 1);
	atomic_fetch_sub(&job->running, 1);
	return (int)item == job->fail_at ? -EIO : 0;
}

/* Returns how many threads worked at once. Checks that each item was worked on once. */
static unsigned int run_job(struct job *job, uint64_t memory_bytes)
{
	const struct workers workers = {
		.threads = THREADS,
		.count = ITEMS,
		.work = job_work,
		.cost = job_cost,
		.memory_bytes = memory_bytes,
		.context = job,
	};
	size_t done;

	job->fail_at = -1;
	CHECK_EQ(workers_run(&workers, &done), 0);
	CHECK_EQ(done, ITEMS);
	for (size_t i = 0; i < ITEMS; i++)
		CHECK_EQ(job->done[i], 1);
	return job->most;
}

static void test_memory(void)
{
	struct job small = { .cost = 0, .together = THREADS };
	struct job some = { .cost = 30, .together = 3 };
	struct job large = { .cost = 1000, .together = 1 };
	struct job claimed = { .cost = UINT64_MAX, .together = 1 };

	CHECK_EQ(run_job(&small, 100), THREADS);
	CHECK_EQ(run_job(&some, 100), 3);
	CHECK_EQ(run_job(&large, 100), 1);
	CHECK_EQ(run_job(&claimed, 100), 1);
}

static void test_failure(void)
{
	struct job job = { .fail_at = 5 };
	const struct workers workers = {
		.threads = 1, .count = ITEMS, .work = job_work, .context = &job
	};
	size_t done;

	CHECK_EQ(workers_run(&workers, &done), -EIO);
	CHECK_EQ(done, 6);
	CHECK_EQ(job.done[6], 0);
}

CHECK_MAIN({ "no more threads than fit into the memory", test_memory },
	   { "a failure ends the work", test_failure })
