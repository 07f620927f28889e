// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/proc-reader.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/worker.h"

/*
 * Invariants:
 * (1) a worker belongs to its thread and to the reader. After the reader abandons a worker, the
 *     thread alone owns that worker, and frees it;
 * (2) `stuck` outlives both, because an abandoned thread that returns decrements its count.
 */

/*
 * Time for all reads together after *stop was set, because the end of the recorder waits for them.
 */
#define STOP_BUDGET_NS (500 * NSEC_PER_MSEC)

struct proc_worker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int (*read)(const char *path, size_t limit, char **ret_text);
	char path[64];
	size_t limit;
	/* The thread must read `path`. */
	bool pending;
	/* The reader does not use the result. */
	bool abandoned;
	char *text;
	int result;
	struct stuck *stuck;
};

struct stuck {
	atomic_uint count;
	atomic_uint references;
};

struct proc_reader {
	/* NULL: the reader abandoned the last worker. */
	struct proc_worker *worker;
	struct stuck *stuck;
	/* Remaining time for all reads. */
	uint64_t budget_ns;
	uint64_t each_ns;
	/* Not 0: stop soon. May be NULL. */
	const volatile sig_atomic_t *stop;
	bool stopping;
};

static void proc_reader_unref_stuck(struct stuck *stuck)
{
	if (atomic_fetch_sub(&stuck->references, 1) == 1)
		free(stuck);
}

static void proc_worker_free(struct proc_worker *worker)
{
	worker_lock_done(&worker->lock, &worker->changed);
	proc_reader_unref_stuck(worker->stuck);
	free(worker->text);
	free(worker);
}

static void proc_worker_read(struct proc_worker *worker)
{
	char *text = NULL;
	int r;

	pthread_mutex_unlock(&worker->lock);
	r = worker->read(worker->path, worker->limit, &text);
	pthread_mutex_lock(&worker->lock);
	worker->text = text;
	worker->result = r;
	if (worker->abandoned)
		atomic_fetch_sub(&worker->stuck->count, 1);
	worker->pending = false;
	pthread_cond_broadcast(&worker->changed);
}

static void *proc_worker_main(void *context)
{
	struct proc_worker *worker = context;

	prctl(PR_SET_NAME, "perftape-proc");
	pthread_mutex_lock(&worker->lock);
	while (!worker->abandoned) {
		if (worker->pending)
			proc_worker_read(worker);
		else
			pthread_cond_wait(&worker->changed, &worker->lock);
	}
	/* the reader abandoned this thread before the thread began to read */
	if (worker->pending)
		atomic_fetch_sub(&worker->stuck->count, 1);
	pthread_mutex_unlock(&worker->lock);
	proc_worker_free(worker);
	return NULL;
}

static int proc_worker_new(struct proc_reader *reader)
{
	struct proc_worker *worker = calloc(1, sizeof(*worker));
	pthread_t thread;
	int r;

	if (!worker)
		return -ENOMEM;
	worker_lock_init(&worker->lock, &worker->changed);
	worker->stuck = reader->stuck;
	atomic_fetch_add(&worker->stuck->references, 1);
	r = worker_start(&thread, proc_worker_main, worker);
	if (r < 0) {
		proc_worker_free(worker);
		return r;
	}
	pthread_detach(thread);
	reader->worker = worker;
	return 0;
}

/* Leaves the worker to its thread, which frees the worker and ends when its read returns. */
static void proc_worker_abandon(struct proc_reader *reader)
{
	struct proc_worker *worker = take_ptr(reader->worker);

	assert(!worker->abandoned);
	worker->abandoned = true;
	if (worker->pending)
		atomic_fetch_add(&worker->stuck->count, 1);
	pthread_cond_broadcast(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
}

int proc_reader_new(struct proc_reader **ret_reader)
{
	struct proc_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (reader)
		reader->stuck = calloc(1, sizeof(*reader->stuck));
	if (!reader || !reader->stuck) {
		free(reader);
		return -ENOMEM;
	}
	reader->stuck->references = 1;
	r = proc_worker_new(reader);
	if (r < 0) {
		proc_reader_free(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

struct proc_reader *proc_reader_free(struct proc_reader *reader)
{
	if (!reader)
		return NULL;
	if (reader->worker) {
		pthread_mutex_lock(&reader->worker->lock);
		proc_worker_abandon(reader);
	}
	proc_reader_unref_stuck(reader->stuck);
	free(reader);
	return NULL;
}

void proc_reader_allow(struct proc_reader *reader, uint64_t budget_ns, uint64_t each_ns)
{
	reader->budget_ns = reader->stopping ? MIN(reader->budget_ns, budget_ns) : budget_ns;
	reader->each_ns = each_ns;
}

void proc_reader_set_stop(struct proc_reader *reader, const volatile sig_atomic_t *stop)
{
	reader->stop = stop;
}

static void proc_reader_check_stop(struct proc_reader *reader)
{
	if (reader->stopping || !reader->stop || !*reader->stop)
		return;
	reader->stopping = true;
	reader->budget_ns = MIN(reader->budget_ns, STOP_BUDGET_NS);
}

unsigned int proc_reader_stuck(const struct proc_reader *reader)
{
	return atomic_load(&reader->stuck->count);
}

/*
 * Waits until the read returns or the time is over. Returns whether the read returned. The caller
 * holds the worker's lock.
 */
static bool proc_worker_wait(struct proc_reader *reader)
{
	struct proc_worker *worker = reader->worker;
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), took_ns;
	uint64_t end_ns = begin_ns + MIN(reader->budget_ns, reader->each_ns);
	struct timespec until = { end_ns / NSEC_PER_SEC, end_ns % NSEC_PER_SEC };

	while (worker->pending &&
	       pthread_cond_timedwait(&worker->changed, &worker->lock, &until) != ETIMEDOUT)
		;
	took_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	reader->budget_ns -= MIN(reader->budget_ns, took_ns);
	return !worker->pending;
}

static int proc_reader_read_file(const char *path, size_t limit, char **ret_text)
{
	return file_read(path, limit, ret_text, NULL);
}

int proc_reader_read(struct proc_reader *reader, const char *path, size_t limit, char **ret_text)
{
	return proc_reader_run(reader, proc_reader_read_file, path, limit, ret_text);
}

int proc_reader_read_maps(struct proc_reader *reader, const char *path, size_t limit,
			  char **ret_text)
{
	if (reader && proc_reader_stuck(reader) >= PROC_READER_MAPS_STUCK_MAX)
		return -EAGAIN;
	return proc_reader_read(reader, path, limit, ret_text);
}

int proc_reader_run(struct proc_reader *reader,
		    int (*read)(const char *path, size_t limit, char **ret_text), const char *path,
		    size_t limit, char **ret_text)
{
	struct proc_worker *worker;
	int r;

	if (!reader)
		return read(path, limit, ret_text);
	proc_reader_check_stop(reader);
	if (!reader->budget_ns || proc_reader_stuck(reader) >= PROC_READER_STUCK_MAX)
		return -EAGAIN;
	if (!reader->worker && (r = proc_worker_new(reader)) < 0)
		return r;
	worker = reader->worker;
	pthread_mutex_lock(&worker->lock);
	worker->read = read;
	snprintf(worker->path, sizeof(worker->path), "%s", path);
	worker->limit = limit;
	worker->pending = true;
	pthread_cond_broadcast(&worker->changed);
	if (!proc_worker_wait(reader)) {
		proc_worker_abandon(reader);
		return -EAGAIN;
	}
	r = worker->result;
	if (r == 0)
		*ret_text = take_ptr(worker->text);
	pthread_mutex_unlock(&worker->lock);
	return r;
}
