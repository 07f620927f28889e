// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/status-thread.h"

#include <sys/prctl.h>

#include "base/clock.h"
#include "base/file.h"
#include "recorder/perf/sampling-cost.h"
#include "recorder/run/self-stats.h"
#include "base/worker.h"

struct status_thread {
	struct store_writer *writer;
	/* a function that the thread runs on request */
	void (*errand)(void *context);
	void *context;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* the status to write */
	struct recorder_progress progress;
	/* the thread has not written `progress` yet */
	bool there;
	/* the thread must run the errand */
	bool sent;
	_Atomic bool ending;
	/* set right before the thread returns */
	bool ended;
	struct sampling_cost cost;
	uint64_t memory_bytes, resident_bytes;
};

/* Finds the number in "RssAnon:      1234 kB". */
static uint64_t find_kb(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static void status_thread_read_memory(struct status_thread *status)
{
	_cleanup_free_ char *text = NULL;

	if (file_read("/proc/self/status", 16384, &text, NULL) < 0)
		return;
	pthread_mutex_lock(&status->lock);
	status->memory_bytes = find_kb(text, "\nRssAnon:");
	status->resident_bytes = find_kb(text, "\nVmRSS:");
	pthread_mutex_unlock(&status->lock);
}

static void measure_sampling(struct status_thread *status)
{
	struct sampling_cost cost = { 0 };

	if (sampling_cost_measure(&status->ending, &cost) < 0)
		return;
	pthread_mutex_lock(&status->lock);
	status->cost = cost;
	pthread_mutex_unlock(&status->lock);
}

/* Returns false at the end. */
static bool status_thread_wait_for_work(struct status_thread *status, bool *ret_sent,
					bool *ret_there, struct recorder_progress *ret_progress)
{
	pthread_mutex_lock(&status->lock);
	while (!status->there && !status->sent && !status->ending)
		pthread_cond_wait(&status->changed, &status->lock);
	*ret_sent = status->sent;
	*ret_there = status->there;
	status->sent = status->there = false;
	*ret_progress = status->progress;
	pthread_mutex_unlock(&status->lock);
	return !status->ending;
}

/* Ignores errors: the sealer reports a store that cannot be written. */
static void status_thread_write(struct status_thread *status,
				const struct recorder_progress *progress)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };

	progress_write(progress, &json);
	buffer_u8(&json, 0);
	if (!buffer_failed(&json))
		store_writer_set_status(status->writer, (const char *)json.data, NULL);
	status_thread_read_memory(status);
}

static void *status_thread_main(void *context)
{
	struct status_thread *status = context;
	struct recorder_progress progress;
	bool sent, there;

	prctl(PR_SET_NAME, "perftape-tell");
	measure_sampling(status);
	while (status_thread_wait_for_work(status, &sent, &there, &progress)) {
		if (sent)
			status->errand(status->context);
		if (there)
			status_thread_write(status, &progress);
	}
	pthread_mutex_lock(&status->lock);
	status->ended = true;
	pthread_cond_broadcast(&status->changed);
	pthread_mutex_unlock(&status->lock);
	return NULL;
}

static void status_thread_free(struct status_thread *status)
{
	worker_lock_done(&status->lock, &status->changed);
	free(status);
}

int status_thread_start(struct store_writer *writer, void (*errand)(void *context), void *context,
			struct status_thread **ret_status, struct error *error)
{
	struct status_thread *status = calloc(1, sizeof(*status));
	int r;

	if (!status)
		return -ENOMEM;
	status->writer = writer;
	status->errand = errand;
	status->context = context;
	worker_lock_init(&status->lock, &status->changed);
	r = worker_start(&status->thread, status_thread_main, status);
	if (r < 0) {
		status_thread_free(status);
		return error_set(error, r, "cannot start the status thread: %s", strerror(-r));
	}
	*ret_status = status;
	return 0;
}

static uint64_t sampling_ns(const struct sampling_cost *cost, uint64_t sample_bytes)
{
	uint64_t frames =
		(sample_bytes - MIN(sample_bytes, SELF_STATS_SAMPLE_BYTES)) / sizeof(uint64_t);

	return cost->sample_ns ? cost->sample_ns + cost->frame_ps * frames / 1000 : 0;
}

void status_thread_put(struct status_thread *status, struct recorder_progress *progress)
{
	pthread_mutex_lock(&status->lock);
	progress->memory_bytes = status->memory_bytes;
	progress->resident_bytes = status->resident_bytes;
	progress->sampling_ns = sampling_ns(&status->cost, progress->sample_bytes);
	status->progress = *progress;
	status->there = true;
	pthread_cond_broadcast(&status->changed);
	pthread_mutex_unlock(&status->lock);
}

void status_thread_run_errand(struct status_thread *status)
{
	pthread_mutex_lock(&status->lock);
	status->sent = true;
	pthread_cond_broadcast(&status->changed);
	pthread_mutex_unlock(&status->lock);
}

int status_thread_stop(struct status_thread *status, uint64_t patience_ns)
{
	bool ended;

	if (!status)
		return 0;
	pthread_mutex_lock(&status->lock);
	status->ending = true;
	pthread_cond_broadcast(&status->changed);
	ended = worker_await(&status->lock, &status->changed, &status->ended, patience_ns);
	pthread_mutex_unlock(&status->lock);
	if (!ended)
		return -ETIMEDOUT;
	pthread_join(status->thread, NULL);
	status_thread_free(status);
	return 0;
}
