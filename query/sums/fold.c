// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lock protects the members of struct run that change. Each worker's folded stacks belong to
 * this worker until all workers have finished.
 */
#include "query/sums/fold.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "query/read/frame-account.h"
#include "query/read/recorded.h"
#include "query/read/window-filter.h"
#include "tape/digest.h"
#include "base/workers.h"

struct run {
	const struct fold_options *options;
	struct loader loader;
	struct worker *workers;
	pthread_mutex_t lock;
	/* fold.folded is set at the end */
	struct fold fold;
	struct error error;
};

struct worker {
	struct run *run;
	struct folded *folded;
};

/* The counts that one segment adds. */
struct counts {
	uint64_t samples;
	bool read, summed;
	struct coverage coverage;
};

static bool is_summed(const struct run *run, const struct store_segment *segment)
{
	const struct question *question = &run->options->question;

	return run->options->weight == FOLDED_SAMPLES && !segment->unsealed &&
	       filter_is_by_comm(question->filter) &&
	       segment->begin_ns >= question->window.from_ns &&
	       segment->end_ns <= question->window.to_ns;
}

static void fold_read_segment(const struct run *run, const struct store_segment *segment,
			      unsigned int parts, struct loaded *ret_loaded)
{
	loader_read(&run->loader, segment, run->options->question.window.from_ns,
		    parts | SEGMENT_LOSSES, ret_loaded);
}

/* Reads the sums, and the counts of frames in the digest. Damage of the digest alone is harmless.
 */
static void fold_read_sums(const struct run *run, const struct store_segment *segment,
			   struct loaded *ret_loaded)
{
	fold_read_segment(run, segment, SEGMENT_SUMS | SEGMENT_FRAMES, ret_loaded);
	if (ret_loaded->failed == -EBADMSG)
		fold_read_segment(run, segment, SEGMENT_SUMS, ret_loaded);
}

/* Returns 1 with the tape, 0 if the segment cannot be read, or a negative errno. */
static int fold_open_segment(struct run *run, const struct store_segment *segment, bool summed,
			     struct tape **ret_tape)
{
	struct loaded loaded;
	int r;

	if (summed)
		fold_read_sums(run, segment, &loaded);
	else
		fold_read_segment(run, segment, SEGMENT_SAMPLES, &loaded);
	pthread_mutex_lock(&run->lock);
	r = loader_take(&run->loader, segment, &loaded, ret_tape, &run->error);
	pthread_mutex_unlock(&run->lock);
	return r;
}

static int fold_add_samples(struct worker *worker, struct tape *tape, struct counts *counts)
{
	const struct question *question = &worker->run->options->question;
	enum folded_weight weight = worker->run->options->weight;
	int r = window_filter_samples(tape, &question->window, question->filter,
				      &counts->coverage.clock_error_ns, NULL);

	if (r < 0)
		return r;
	r = window_filter_count_samples(tape, &counts->coverage);
	if (r < 0)
		return r;
	counts->samples = tape->samples.count;
	return folded_add_samples(worker->folded, tape, weight);
}

static int fold_count_sums(const struct tape *tape, const struct filter *filter,
			   struct coverage *coverage)
{
	_cleanup_(frame_count_done) struct frame_count count = { 0 };
	int r = frame_count_init(&count, tape);
	bool passes = false;

	for (size_t i = 0; r == 0 && i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];

		/* the sums of a comm follow each other */
		if (!i || sum->comm != sum[-1].comm)
			passes = filter_passes_comm(filter, tape_string(tape, sum->comm));
		if (passes)
			frame_count_add(&count, sum->stack, sum->frame, sum->count);
	}
	return r < 0 ? r : frame_account_add(&count, coverage);
}

/* Counts the frames of all sums that pass. The digest has counted those of all sums. */
static int fold_count_frames(const struct tape *tape, const struct filter *filter, uint64_t samples,
			     struct coverage *coverage)
{
	const struct digest *digest = tape->digest;

	if (digest && digest->samples == samples && filter_passes_all(filter))
		return frame_account_add_digest(tape, digest, coverage);
	return fold_count_sums(tape, filter, coverage);
}

/*
 * Adds the sums of a segment. Returns 1 if the sums are not enough, so that the caller must read
 * the samples. Sums are also not enough if the index has another number of samples.
 */
static int fold_add_sums(struct worker *worker, const struct store_segment *segment,
			 const struct tape *tape, struct counts *counts)
{
	const struct filter *filter = worker->run->options->question.filter;
	uint64_t all = 0;
	int r;

	for (size_t i = 0; i < tape->sums.count; i++)
		all += tape->sums.items[i].count;
	if (all != segment->samples)
		return 1;
	r = folded_add_sums(worker->folded, tape, filter, &counts->samples);
	if (r != 0)
		return r;
	r = fold_count_frames(tape, filter, all, &counts->coverage);
	if (r != 0)
		return r;
	counts->summed = true;
	counts->coverage.clock_error_ns = recorded_clock_error(tape);
	return 0;
}

static int fold_add_segment(struct worker *worker, const struct store_segment *segment,
			    struct counts *counts)
{
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	bool summed = is_summed(worker->run, segment);
	struct loaded loaded;
	int r = fold_open_segment(worker->run, segment, summed, &tape);

	if (r <= 0)
		return r;
	counts->read = true;
	if (!summed)
		return fold_add_samples(worker, tape, counts);
	r = fold_add_sums(worker, segment, tape, counts);
	if (r <= 0)
		return r;
	fold_read_segment(worker->run, segment, SEGMENT_SAMPLES, &loaded);
	tape_free(tape);
	tape = loaded.tape;
	if (tape)
		return fold_add_samples(worker, tape, counts);
	/*
	 * the sums were readable a moment ago, so the time counts as covered, but the samples are
	 * missing
	 */
	counts->coverage.damaged++;
	return loaded.failed == -ENOMEM ? -ENOMEM : 0;
}

static void fold_count(struct run *run, const struct counts *counts)
{
	struct coverage *coverage = &run->loader.coverage;

	pthread_mutex_lock(&run->lock);
	frame_account_merge(coverage, &counts->coverage);
	coverage->damaged += counts->coverage.damaged;
	coverage->clock_error_ns = MAX(coverage->clock_error_ns, counts->coverage.clock_error_ns);
	run->fold.samples += counts->samples;
	run->fold.segments += counts->read;
	run->fold.summed += counts->summed;
	pthread_mutex_unlock(&run->lock);
}

static int fold_work(void *context, unsigned int worker, size_t item)
{
	struct run *run = context;
	struct counts counts = { 0 };
	int r = fold_add_segment(&run->workers[worker], &run->loader.segments.list.items[item],
				 &counts);

	fold_count(run, &counts);
	return r;
}

static uint64_t fold_cost(void *context, size_t item)
{
	struct run *run = context;

	return store_reader_memory(run->loader.reader, &run->loader.segments.list.items[item]);
}

static int fold_run_workers(struct run *run, unsigned int count)
{
	const struct fold_options *options = run->options;
	const struct workers workers = {
		.threads = count,
		.count = run->loader.segments.list.count,
		.work = fold_work,
		.context = run,
		.cost = fold_cost,
		.memory_bytes = LOADER_MEMORY_BYTES,
		.progress = options->progress,
		.progress_context = options->progress_context,
	};
	size_t done;
	int r = workers_run(&workers, &done);

	for (unsigned int i = 1; r == 0 && i < count; i++) {
		r = folded_merge(run->workers[0].folded, run->workers[i].folded);
		run->workers[i].folded = folded_free(run->workers[i].folded);
	}
	return r;
}

static int fold_start_workers(struct run *run, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		int r;

		run->workers[i].run = run;
		r = folded_new(&run->workers[i].folded);
		if (r < 0)
			return r;
		run->workers[i].folded->kinds = run->options->kinds;
		run->workers[i].folded->marks = run->options->marks;
	}
	return 0;
}

static int fold_with_workers(struct run *run, unsigned int count)
{
	int r = fold_start_workers(run, count);

	if (r < 0)
		return r;
	r = fold_run_workers(run, count);
	if (r < 0)
		return r;
	run->fold.folded = take_ptr(run->workers[0].folded);
	return 0;
}

static int fold_run_all(struct run *run)
{
	unsigned int count = MAX(run->options->threads, 1u);
	int r;

	run->workers = calloc(count, sizeof(*run->workers));
	if (!run->workers)
		return -ENOMEM;
	r = fold_with_workers(run, count);
	for (unsigned int i = 0; i < count; i++)
		folded_free(run->workers[i].folded);
	free(run->workers);
	return r;
}

int fold_run(struct store_reader *reader, const struct fold_options *options, struct fold *ret_fold,
	     struct error *error)
{
	struct run run = { .options = options };
	int r = loader_open(reader, &options->question, &run.loader, error);

	if (r < 0)
		return r;
	pthread_mutex_init(&run.lock, NULL);
	r = fold_run_all(&run);
	pthread_mutex_destroy(&run.lock);
	if (r < 0 && error)
		*error = run.error;
	if (r == 0)
		r = loader_finish(&run.loader, error);
	if (r == 0) {
		*ret_fold = run.fold;
		ret_fold->coverage = run.loader.coverage;
		memset(&run.loader.coverage.gaps, 0, sizeof(run.loader.coverage.gaps));
	} else {
		folded_free(run.fold.folded);
	}
	loader_done(&run.loader);
	return r;
}

void fold_done(struct fold *fold)
{
	fold->folded = folded_free(fold->folded);
	array_done(&fold->coverage.gaps);
}
