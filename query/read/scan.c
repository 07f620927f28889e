// SPDX-License-Identifier: GPL-2.0-only
#include "query/read/scan.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/read/frame-account.h"
#include "query/read/recorded.h"
#include "query/read/window-filter.h"
#include "base/workers.h"

/* The lock protects what the workers share: the loader and the result. */
struct run {
	const struct scan_options *options;
	struct loader loader;
	pthread_mutex_t lock;
	struct scanned scanned;
	struct error error;
};

/* A segment that a worker reads. */
struct item {
	struct run *run;
	unsigned int worker;
	const struct store_segment *segment;
};

static int scan_take(const struct item *item, struct loaded *loaded, struct tape **ret_tape)
{
	struct run *run = item->run;
	int r;

	pthread_mutex_lock(&run->lock);
	r = loader_take(&run->loader, item->segment, loaded, ret_tape, &run->error);
	run->scanned.segments += r == 1;
	pthread_mutex_unlock(&run->lock);
	return r;
}

static void scan_count(struct run *run, uint64_t samples, bool digested,
		       const struct coverage *of_tape)
{
	struct coverage *coverage = &run->loader.coverage;

	pthread_mutex_lock(&run->lock);
	run->scanned.samples += samples;
	run->scanned.digested += digested;
	frame_account_merge(coverage, of_tape);
	coverage->clock_error_ns = MAX(coverage->clock_error_ns, of_tape->clock_error_ns);
	pthread_mutex_unlock(&run->lock);
}

static int scan_add_tape(const struct item *item, struct tape *tape)
{
	const struct scan_options *options = item->run->options;
	struct coverage coverage = { 0 };
	_cleanup_(window_filter_times_done) struct window_filter_times times = { 0 };
	int r = window_filter_samples(tape, &options->question.window, options->question.filter,
				      &coverage.clock_error_ns, &times);

	if (r < 0)
		return r;
	r = window_filter_count_samples(tape, &coverage);
	if (r < 0)
		return r;
	if (tape->samples.count)
		r = options->add(options->context, item->worker, item->segment, tape, &times);
	if (r < 0)
		return r;
	scan_count(item->run, tape->samples.count, false, &coverage);
	return 0;
}

static void scan_read(const struct item *item, unsigned int parts, struct loaded *ret_loaded)
{
	loader_read(&item->run->loader, item->segment, item->run->options->question.window.from_ns,
		    parts, ret_loaded);
}

static int scan_samples(const struct item *item)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct loaded loaded;
	int r;

	scan_read(item, SEGMENT_SAMPLES | SEGMENT_LOSSES, &loaded);
	r = scan_take(item, &loaded, &tape);
	return r <= 0 ? r : scan_add_tape(item, tape);
}

/* Counts a segment whose samples are damaged, while other parts of it could be read. */
static int scan_lost_samples(const struct item *item, int failed)
{
	if (failed == -ENOMEM)
		return failed;
	pthread_mutex_lock(&item->run->lock);
	item->run->loader.coverage.damaged++;
	pthread_mutex_unlock(&item->run->lock);
	return 0;
}

/*
 * Adds the samples in a part of a segment. The digest of the rest of the segment has been added.
 */
static int scan_add_rest(const struct item *item, const struct window *rest)
{
	const struct scan_options *options = item->run->options;
	const struct segment_want want = { rest->from_ns, rest->to_ns,
					   SEGMENT_SAMPLES | SEGMENT_LOSSES, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	_cleanup_(window_filter_times_done) struct window_filter_times times = { 0 };
	uint64_t error_ns = 0;
	int r = store_reader_load(item->run->loader.reader, item->segment, &want, &tape, NULL);

	if (r < 0)
		return scan_lost_samples(item, r);
	r = window_filter_samples(tape, rest, options->question.filter, &error_ns, &times);
	if (r < 0)
		return r;
	if (tape->samples.count)
		return options->add(options->context, item->worker, item->segment, tape, &times);
	return 0;
}

/* Adds a digest. Returns 1 if the samples are needed instead. */
static int scan_add_digest(const struct item *item, const struct tape *tape)
{
	const struct scan_options *options = item->run->options;
	struct coverage coverage = { .clock_error_ns = recorded_clock_error(tape) };
	_cleanup_(scan_rest_done) struct scan_rest rest = { 0 };
	int r;

	if (!tape->digest || tape->digest->samples != item->segment->samples)
		return 1;
	r = options->add_digest(options->context, item->worker, item->segment, tape, &rest);
	if (r != 0)
		return r;
	r = frame_account_add_digest(tape, tape->digest, &coverage);
	if (r < 0)
		return r;
	scan_count(item->run, tape->digest->samples, true, &coverage);
	for (size_t i = 0; r == 0 && i < rest.list.count; i++)
		r = scan_add_rest(item, &rest.list.items[i]);
	return r;
}

/* Adds only the samples of a segment, because its time has been counted already. */
static int scan_samples_only(const struct item *item)
{
	struct loaded loaded;
	int r;

	scan_read(item, SEGMENT_SAMPLES | SEGMENT_LOSSES, &loaded);
	if (!loaded.tape)
		return scan_lost_samples(item, loaded.failed);
	r = scan_add_tape(item, loaded.tape);
	tape_free(loaded.tape);
	return r;
}

static int scan_digest(const struct item *item)
{
	unsigned int picture = item->run->options->pictures ? SEGMENT_PICTURE : 0;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	struct loaded loaded;
	int r;

	scan_read(item, SEGMENT_DIGEST | SEGMENT_LOSSES | picture, &loaded);
	/* the samples may be readable */
	if (loaded.failed == -EBADMSG)
		return scan_samples(item);
	r = scan_take(item, &loaded, &tape);
	if (r > 0)
		r = scan_add_digest(item, tape);
	return r > 0 ? scan_samples_only(item) : r;
}

static int scan_work(void *context, unsigned int worker, size_t number)
{
	struct run *run = context;
	const struct question *question = &run->options->question;
	const struct store_segment *segment = &run->loader.segments.list.items[number];
	const struct item item = { run, worker, segment };

	if (run->options->add_digest && !segment->unsealed &&
	    segment->begin_ns >= question->window.from_ns &&
	    segment->end_ns <= question->window.to_ns && filter_passes_all(question->filter))
		return scan_digest(&item);
	return scan_samples(&item);
}

static uint64_t scan_cost(void *context, size_t item)
{
	struct run *run = context;

	return store_reader_memory(run->loader.reader, &run->loader.segments.list.items[item]);
}

static int scan_run_all(struct run *run, struct error *error)
{
	const struct scan_options *options = run->options;
	const struct workers workers = {
		.threads = options->threads,
		.count = run->loader.segments.list.count,
		.work = scan_work,
		.context = run,
		.cost = scan_cost,
		.memory_bytes = LOADER_MEMORY_BYTES,
		.progress = options->progress,
		.progress_context = options->progress_context,
	};
	size_t done;
	int r = workers_run(&workers, &done);

	if (r < 0 && error)
		*error = run->error;
	return r < 0 ? r : loader_finish(&run->loader, error);
}

static void scan_run_done(struct run *run)
{
	loader_done(&run->loader);
	pthread_mutex_destroy(&run->lock);
}

int scan_run(struct store_reader *reader, const struct scan_options *options,
	     struct scanned *ret_scanned, struct error *error)
{
	_cleanup_(scan_run_done) struct run run = { .options = options,
						    .lock = PTHREAD_MUTEX_INITIALIZER };
	int r = loader_open(reader, &options->question, &run.loader, error);

	if (r < 0)
		return r;
	r = scan_run_all(&run, error);
	if (r < 0)
		return r;
	*ret_scanned = run.scanned;
	ret_scanned->coverage = run.loader.coverage;
	memset(&run.loader.coverage.gaps, 0, sizeof(run.loader.coverage.gaps));
	return 0;
}

void scanned_done(struct scanned *scanned)
{
	array_done(&scanned->coverage.gaps);
}
