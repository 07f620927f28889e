// SPDX-License-Identifier: GPL-2.0-only
#include "cli/service/metrics-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/worker.h"
#include "cli/status/metrics.h"
#include "cli/options/command.h"

/* Time until the store contains an incident that the recorder found. */
#define SPOOLED_NS (3 * NSEC_PER_SEC)
#define PATIENCE_NS (500 * NSEC_PER_MSEC)

struct metrics_file {
	char *store;
	char *path;
	pthread_t thread;
	/* The last failure that was reported. Only the thread uses this member and the next two. */
	struct error reported;
	struct metrics_kept *kept;
	/* The time until the next text. */
	uint64_t pause_ns;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* When the recorder found the first incident since the last text; 0: none. */
	uint64_t found_ns;
	bool ending;
	bool ended;
};

static struct metrics_file *metrics_file_free(struct metrics_file *file)
{
	worker_lock_done(&file->lock, &file->changed);
	metrics_kept_free(file->kept);
	free(file->store);
	free(file->path);
	free(file);
	return NULL;
}

static int metrics_file_write(struct metrics_file *file, struct error *error)
{
	_cleanup_(cleanup_store_reader) struct store_reader *reader = NULL;
	_cleanup_(buffer_done) struct buffer text = { 0 };
	int r = store_reader_open(file->store, &reader, error);

	if (r == 0)
		r = metrics_put(file->kept, reader, METRICS_PROMETHEUS, &text, error);
	if (r == -ENOMEM)
		return error_set(error, r, "%s: out of memory", file->path);
	if (r < 0)
		return r;
	r = file_publish(file->path, text.data, text.size);
	return r < 0 ? error_set(error, r, "%s: %s", file->path, strerror(-r)) : 0;
}

/* Writes the metrics. Reports a failure once, and again only after another failure or a success. */
static void metrics_file_try(struct metrics_file *file)
{
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct error error = { 0 };

	if (metrics_file_write(file, &error) < 0 && strcmp(error.text, file->reported.text) != 0)
		warn("--metrics-file: %s; the next try is in %llu s", error.text,
		     (unsigned long long)(METRICS_FILE_NS / NSEC_PER_SEC));
	file->reported = error;
	file->pause_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * METRICS_FILE_SHARE;
	file->pause_ns = MIN(MAX(file->pause_ns, METRICS_FILE_NS), METRICS_FILE_MOST_NS);
}

/* Returns when the next text is due; an incident shortens a long pause. */
static uint64_t metrics_file_due(const struct metrics_file *file, uint64_t last_ns)
{
	uint64_t due_ns = last_ns + file->pause_ns;

	if (!file->found_ns)
		return due_ns;
	return MIN(due_ns, MAX(last_ns + METRICS_FILE_NS, file->found_ns + SPOOLED_NS));
}

/* Waits until the next text is due. Returns false if the recording ends. */
static bool metrics_file_wait(struct metrics_file *file)
{
	uint64_t last_ns = clock_ns(CLOCK_MONOTONIC), due_ns;
	bool ending;

	pthread_mutex_lock(&file->lock);
	while (!file->ending &&
	       (due_ns = metrics_file_due(file, last_ns)) > clock_ns(CLOCK_MONOTONIC)) {
		struct timespec until = { due_ns / NSEC_PER_SEC, due_ns % NSEC_PER_SEC };

		pthread_cond_timedwait(&file->changed, &file->lock, &until);
	}
	file->found_ns = 0;
	ending = file->ending;
	pthread_mutex_unlock(&file->lock);
	return !ending;
}

void metrics_file_found(struct metrics_file *file)
{
	if (!file)
		return;
	pthread_mutex_lock(&file->lock);
	/*
	 * keep the time of the first incident: in a storm, later times would delay the text for
	 * ever
	 */
	if (!file->found_ns)
		file->found_ns = clock_ns(CLOCK_MONOTONIC);
	pthread_cond_broadcast(&file->changed);
	pthread_mutex_unlock(&file->lock);
}

static void *metrics_file_main(void *context)
{
	struct metrics_file *file = context;

	prctl(PR_SET_NAME, "perftape-metric");
	do
		metrics_file_try(file);
	while (metrics_file_wait(file));
	metrics_file_try(file);
	pthread_mutex_lock(&file->lock);
	file->ended = true;
	pthread_cond_broadcast(&file->changed);
	pthread_mutex_unlock(&file->lock);
	return NULL;
}

int metrics_file_start(const char *store, const char *path, struct metrics_file **ret_file,
		       struct error *error)
{
	struct metrics_file *file = calloc(1, sizeof(*file));
	int r = 0;

	if (!file)
		return -ENOMEM;
	worker_lock_init(&file->lock, &file->changed);
	file->store = strdup(store);
	file->path = strdup(path);
	file->kept = metrics_kept_new();
	if (!file->store || !file->path || !file->kept)
		r = -ENOMEM;
	if (r == 0)
		r = worker_start(&file->thread, metrics_file_main, file);
	if (r < 0) {
		metrics_file_free(file);
		return error_set(error, r, "cannot start the thread of --metrics-file: %s",
				 strerror(-r));
	}
	*ret_file = file;
	return 0;
}

struct metrics_file *metrics_file_stop(struct metrics_file *file)
{
	bool ended;

	if (!file)
		return NULL;
	pthread_mutex_lock(&file->lock);
	file->ending = true;
	pthread_cond_broadcast(&file->changed);
	ended = worker_await(&file->lock, &file->changed, &file->ended, PATIENCE_NS);
	pthread_mutex_unlock(&file->lock);
	if (!ended)
		return NULL;
	pthread_join(file->thread, NULL);
	return metrics_file_free(file);
}
