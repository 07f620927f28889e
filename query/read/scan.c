// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/scan.h"

#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/read/frame-count.h"
#include "query/read/window-filter.h"
#include "base/workers.h"

/* The lock protects what the workers share: the loader and the number of samples. */
struct run {
	const struct scan_options *options;
	struct loader loader;
	pthread_mutex_t lock;
	uint64_t samples;
	struct error error;
};

static int scan_take(struct run *run, const struct store_segment *segment, struct loaded *loaded,
		     struct tape **ret_tape)
{
	int r;

	pthread_mutex_lock(&run->lock);
	r = loader_take(&run->loader, segment, loaded, ret_tape, &run->error);
	pthread_mutex_unlock(&run->lock);
	return r;
}

static void scan_count(struct run *run, const struct tape *tape, const struct coverage *of_tape)
{
	struct coverage *coverage = &run->loader.coverage;

	pthread_mutex_lock(&run->lock);
	run->samples += tape->samples.count;
	frame_count_merge(coverage, of_tape);
	coverage->clock_error_ns = MAX(coverage->clock_error_ns, of_tape->clock_error_ns);
	pthread_mutex_unlock(&run->lock);
}

static int scan_add_tape(struct run *run, unsigned int worker, const struct store_segment *segment,
			 struct tape *tape)
{
	const struct question *question = &run->options->question;
	struct coverage coverage = { 0 };
	struct window_filter_times times = { 0 };
	int r = window_filter_samples(tape, &question->window, question->filter,
				      &coverage.clock_error_ns, &times);

	if (r == 0)
		r = window_filter_count_samples(tape, &coverage);
	if (r == 0 && tape->samples.count)
		r = run->options->add(run->options->context, worker, segment, tape, &times);
	if (r == 0)
		scan_count(run, tape, &coverage);
	window_filter_times_done(&times);
	return r;
}

static int scan_work(void *context, unsigned int worker, size_t item)
{
	struct run *run = context;
	const struct store_segment *segment = &run->loader.segments.list.items[item];
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct loaded loaded;
	int r;

	loader_read(&run->loader, segment, run->options->question.window.from_ns,
		    SEGMENT_SAMPLES | SEGMENT_LOSSES, &loaded);
	r = scan_take(run, segment, &loaded, &tape);
	return r <= 0 ? r : scan_add_tape(run, worker, segment, tape);
}

static int scan_run_all(struct run *run, struct error *error)
{
	const struct scan_options *options = run->options;
	const struct workers workers = {
		.threads = options->threads,
		.count = run->loader.segments.list.count,
		.work = scan_work,
		.context = run,
		.progress = options->progress,
		.progress_context = options->progress_context,
	};
	size_t done;
	int r = workers_run(&workers, &done);

	if (r < 0 && error)
		*error = run->error;
	return r < 0 ? r : loader_finish(&run->loader, error);
}

int scan_run(struct store_reader *reader, const struct scan_options *options,
	     struct scanned *ret_scanned, struct error *error)
{
	struct run run = { .options = options, .lock = PTHREAD_MUTEX_INITIALIZER };
	int r = loader_open(reader, &options->question, &run.loader, error);

	if (r < 0)
		return r;
	r = scan_run_all(&run, error);
	if (r == 0) {
		*ret_scanned = (struct scanned){ run.loader.coverage, run.samples };
		memset(&run.loader.coverage.gaps, 0, sizeof(run.loader.coverage.gaps));
	}
	loader_done(&run.loader);
	pthread_mutex_destroy(&run.lock);
	return r;
}

void scanned_done(struct scanned *scanned)
{
	array_done(&scanned->coverage.gaps);
}
