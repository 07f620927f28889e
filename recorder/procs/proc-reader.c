// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/procs/proc-reader.h"

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
 * (1) a desk belongs to its thread and to its reader; when the reader leaves it, to the thread
 * alone, which then frees it; (2) `stuck` outlives both, as a thread that comes back counts itself
 * out.
 */

/* When somebody waits for the end. */
#define HURRY_NS (500 * NSEC_PER_MSEC)

struct desk {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int (*read)(const char *path, size_t limit, char **ret_text);
	char path[64];
	size_t limit;
	/* there is something to read */
	bool asked;
	/* by the reader: nobody wants the answer */
	bool left;
	char *text;
	int result;
	struct stuck *stuck;
};

struct stuck {
	atomic_uint count;
	atomic_uint references;
};

struct proc_reader {
	/* NULL: the last one was left */
	struct desk *desk;
	struct stuck *stuck;
	/* that may still be waited */
	uint64_t left_ns;
	uint64_t each_ns;
	/* NULL: never */
	const volatile int *stop;
	bool hurried;
};

static void unref_stuck(struct stuck *stuck)
{
	if (atomic_fetch_sub(&stuck->references, 1) == 1)
		free(stuck);
}

static void free_desk(struct desk *desk)
{
	worker_lock_done(&desk->lock, &desk->changed);
	unref_stuck(desk->stuck);
	free(desk->text);
	free(desk);
}

static void proc_reader_read_one(struct desk *desk)
{
	char *text = NULL;
	int r;

	pthread_mutex_unlock(&desk->lock);
	r = desk->read(desk->path, desk->limit, &text);
	pthread_mutex_lock(&desk->lock);
	desk->text = text;
	desk->result = r;
	if (desk->left)
		atomic_fetch_sub(&desk->stuck->count, 1);
	desk->asked = false;
	pthread_cond_broadcast(&desk->changed);
}

static void *desk_main(void *context)
{
	struct desk *desk = context;

	prctl(PR_SET_NAME, "perftape-proc");
	pthread_mutex_lock(&desk->lock);
	while (!desk->left) {
		if (desk->asked)
			proc_reader_read_one(desk);
		else
			pthread_cond_wait(&desk->changed, &desk->lock);
	}
	pthread_mutex_unlock(&desk->lock);
	free_desk(desk);
	return NULL;
}

static int new_desk(struct proc_reader *reader)
{
	struct desk *desk = calloc(1, sizeof(*desk));
	pthread_t thread;
	int r;

	if (!desk)
		return -ENOMEM;
	worker_lock_init(&desk->lock, &desk->changed);
	desk->stuck = reader->stuck;
	atomic_fetch_add(&desk->stuck->references, 1);
	r = worker_start(&thread, desk_main, desk);
	if (r < 0) {
		free_desk(desk);
		return r;
	}
	pthread_detach(thread);
	reader->desk = desk;
	return 0;
}

/* It goes when it has read what it reads, if it ever does. */
static void leave_desk(struct proc_reader *reader)
{
	struct desk *desk = take_ptr(reader->desk);

	desk->left = true;
	if (desk->asked)
		atomic_fetch_add(&desk->stuck->count, 1);
	pthread_cond_broadcast(&desk->changed);
	pthread_mutex_unlock(&desk->lock);
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
	r = new_desk(reader);
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
	if (reader->desk) {
		pthread_mutex_lock(&reader->desk->lock);
		leave_desk(reader);
	}
	unref_stuck(reader->stuck);
	free(reader);
	return NULL;
}

void proc_reader_allow(struct proc_reader *reader, uint64_t budget_ns, uint64_t each_ns)
{
	reader->left_ns = reader->hurried ? MIN(reader->left_ns, budget_ns) : budget_ns;
	reader->each_ns = each_ns;
}

void proc_reader_hurry(struct proc_reader *reader, const volatile int *stop)
{
	reader->stop = stop;
}

static void look_at_stop(struct proc_reader *reader)
{
	if (reader->hurried || !reader->stop || !*reader->stop)
		return;
	reader->hurried = true;
	reader->left_ns = MIN(reader->left_ns, HURRY_NS);
}

unsigned int proc_reader_stuck(const struct proc_reader *reader)
{
	return atomic_load(&reader->stuck->count);
}

/* With the desk's lock held: waits until it was read, or there is no time left. */
static bool wait_for_desk(struct proc_reader *reader)
{
	struct desk *desk = reader->desk;
	uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC), took_ns;
	uint64_t end_ns = begin_ns + MIN(reader->left_ns, reader->each_ns);
	struct timespec until = { end_ns / NSEC_PER_SEC, end_ns % NSEC_PER_SEC };

	while (desk->asked &&
	       pthread_cond_timedwait(&desk->changed, &desk->lock, &until) != ETIMEDOUT)
		;
	took_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	reader->left_ns -= MIN(reader->left_ns, took_ns);
	return !desk->asked;
}

static int proc_reader_read_file(const char *path, size_t limit, char **ret_text)
{
	return file_read(path, limit, ret_text, NULL);
}

int proc_reader_read(struct proc_reader *reader, const char *path, size_t limit, char **ret_text)
{
	return proc_reader_ask(reader, proc_reader_read_file, path, limit, ret_text);
}

int proc_reader_ask(struct proc_reader *reader,
		    int (*read)(const char *path, size_t limit, char **ret_text), const char *path,
		    size_t limit, char **ret_text)
{
	struct desk *desk;
	int r;

	if (!reader)
		return read(path, limit, ret_text);
	look_at_stop(reader);
	if (!reader->left_ns || proc_reader_stuck(reader) >= PROC_READER_STUCK_MAX)
		return -EAGAIN;
	if (!reader->desk && (r = new_desk(reader)) < 0)
		return r;
	desk = reader->desk;
	pthread_mutex_lock(&desk->lock);
	desk->read = read;
	snprintf(desk->path, sizeof(desk->path), "%s", path);
	desk->limit = limit;
	desk->asked = true;
	pthread_cond_broadcast(&desk->changed);
	if (!wait_for_desk(reader)) {
		leave_desk(reader);
		return -EAGAIN;
	}
	r = desk->result;
	if (r == 0)
		*ret_text = take_ptr(desk->text);
	pthread_mutex_unlock(&desk->lock);
	return r;
}
