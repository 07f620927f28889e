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
	void (*errand)(void *context);
	void *context;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* to be told */
	struct recorder_progress progress;
	/* it has not been yet */
	bool there;
	/* on the errand */
	bool sent;
	_Atomic bool ending;
	/* the thread is about to */
	bool ended;
	struct sampling_cost cost;
	uint64_t memory_bytes, resident_bytes;
};

/* "RssAnon:      1234 kB" */
static uint64_t find_kb(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static void look_at_memory(struct status_thread *teller)
{
	_cleanup_free_ char *status = NULL;

	if (file_read("/proc/self/status", 16384, &status, NULL) < 0)
		return;
	pthread_mutex_lock(&teller->lock);
	teller->memory_bytes = find_kb(status, "\nRssAnon:");
	teller->resident_bytes = find_kb(status, "\nVmRSS:");
	pthread_mutex_unlock(&teller->lock);
}

static void measure_sampling(struct status_thread *teller)
{
	struct sampling_cost cost = { 0 };

	if (sampling_cost_measure(&teller->ending, &cost) < 0)
		return;
	pthread_mutex_lock(&teller->lock);
	teller->cost = cost;
	pthread_mutex_unlock(&teller->lock);
}

/* False at the end. */
static bool status_thread_wait_for_work(struct status_thread *teller, bool *ret_sent,
					bool *ret_there, struct recorder_progress *ret_progress)
{
	pthread_mutex_lock(&teller->lock);
	while (!teller->there && !teller->sent && !teller->ending)
		pthread_cond_wait(&teller->changed, &teller->lock);
	*ret_sent = teller->sent;
	*ret_there = teller->there;
	teller->sent = teller->there = false;
	*ret_progress = teller->progress;
	pthread_mutex_unlock(&teller->lock);
	return !teller->ending;
}

/* A store that cannot be written is said by who writes samples into it. */
static void status_thread_tell_here(struct status_thread *teller,
				    const struct recorder_progress *progress)
{
	_cleanup_(buffer_done) struct buffer json = { 0 };

	progress_write(progress, &json);
	buffer_u8(&json, 0);
	if (!buffer_failed(&json))
		store_writer_tell(teller->writer, (const char *)json.data, NULL);
	look_at_memory(teller);
}

static void *status_thread_main(void *context)
{
	struct status_thread *teller = context;
	struct recorder_progress progress;
	bool sent, there;

	prctl(PR_SET_NAME, "perftape-tell");
	measure_sampling(teller);
	while (status_thread_wait_for_work(teller, &sent, &there, &progress)) {
		if (sent)
			teller->errand(teller->context);
		if (there)
			status_thread_tell_here(teller, &progress);
	}
	pthread_mutex_lock(&teller->lock);
	teller->ended = true;
	pthread_cond_broadcast(&teller->changed);
	pthread_mutex_unlock(&teller->lock);
	return NULL;
}

static void status_thread_free(struct status_thread *teller)
{
	worker_lock_done(&teller->lock, &teller->changed);
	free(teller);
}

int status_thread_start(struct store_writer *writer, void (*errand)(void *context), void *context,
			struct status_thread **ret_teller, struct error *error)
{
	struct status_thread *teller = calloc(1, sizeof(*teller));
	int r;

	if (!teller)
		return -ENOMEM;
	teller->writer = writer;
	teller->errand = errand;
	teller->context = context;
	worker_lock_init(&teller->lock, &teller->changed);
	r = worker_start(&teller->thread, status_thread_main, teller);
	if (r < 0) {
		status_thread_free(teller);
		return error_set(error, r, "starting the thread that tells: %s", strerror(-r));
	}
	*ret_teller = teller;
	return 0;
}

static uint64_t sampling_ns(const struct sampling_cost *cost, uint64_t sample_bytes)
{
	uint64_t frames =
		(sample_bytes - MIN(sample_bytes, SELF_STATS_SAMPLE_BYTES)) / sizeof(uint64_t);

	return cost->sample_ns ? cost->sample_ns + cost->frame_ps * frames / 1000 : 0;
}

void status_thread_tell(struct status_thread *teller, struct recorder_progress *progress)
{
	pthread_mutex_lock(&teller->lock);
	progress->memory_bytes = teller->memory_bytes;
	progress->resident_bytes = teller->resident_bytes;
	progress->sampling_ns = sampling_ns(&teller->cost, progress->sample_bytes);
	teller->progress = *progress;
	teller->there = true;
	pthread_cond_broadcast(&teller->changed);
	pthread_mutex_unlock(&teller->lock);
}

void status_thread_send(struct status_thread *teller)
{
	pthread_mutex_lock(&teller->lock);
	teller->sent = true;
	pthread_cond_broadcast(&teller->changed);
	pthread_mutex_unlock(&teller->lock);
}

int status_thread_stop(struct status_thread *teller, uint64_t patience_ns)
{
	bool ended;

	if (!teller)
		return 0;
	pthread_mutex_lock(&teller->lock);
	teller->ending = true;
	pthread_cond_broadcast(&teller->changed);
	ended = worker_await(&teller->lock, &teller->changed, &teller->ended, patience_ns);
	pthread_mutex_unlock(&teller->lock);
	if (!ended)
		return -ETIMEDOUT;
	pthread_join(teller->thread, NULL);
	status_thread_free(teller);
	return 0;
}
