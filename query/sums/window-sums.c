// SPDX-License-Identifier: GPL-2.0-only
/* Each worker adds to sums of its own, which are merged at the end. */
#include "query/sums/window-sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct worker {
	struct tally *tally;
	struct heat *heat;
};

struct run {
	const struct window_sums_options *options;
	struct worker *workers;
};

static int window_sums_add(void *context, unsigned int number, const struct store_segment *segment,
			   const struct tape *tape, const struct window_filter_times *times)
{
	const struct run *run = context;
	struct worker *worker = &run->workers[number];
	uint64_t sample_ns = stack_class_sample_ns(tape, segment->samples);
	int r = 0;

	if (worker->tally)
		r = tally_add_samples(worker->tally, tape, times->kinds, sample_ns,
				      run->options->parts);
	return r == 0 && worker->heat ? heat_add(worker->heat, tape, times, sample_ns) : r;
}

/*
 * Adds the digest to the grid first. The grid may need the samples instead, and only the grid can
 * append to `rest`.
 */
static int window_sums_add_digest(void *context, unsigned int number,
				  const struct store_segment *segment, const struct tape *tape,
				  struct scan_rest *rest)
{
	const struct run *run = context;
	struct worker *worker = &run->workers[number];
	uint64_t sample_ns = stack_class_sample_ns(tape, segment->samples);
	int r = 0;

	if (worker->heat)
		r = heat_add_digest(worker->heat, tape, sample_ns, rest);
	if (r != 0)
		return r;
	if (worker->tally)
		return tally_add_digest(worker->tally, tape, sample_ns, run->options->parts);
	return 0;
}

static int worker_init(const struct window_sums_options *options, struct worker *worker)
{
	const struct heat *grid = options->grid;
	int r = options->parts ? tally_new(&worker->tally) : 0;

	if (r < 0)
		return r;
	if (options->parts)
		worker->tally->by = options->by;
	if (grid)
		r = heat_new(grid->by, &options->question.window, grid->column_ns, grid->rows,
			     &worker->heat);
	if (r < 0)
		return r;
	if (grid)
		worker->heat->left_out = grid->left_out;
	return 0;
}

static int merge_workers(struct run *run)
{
	struct worker *first = &run->workers[0];
	int r = 0;

	for (unsigned int i = 1; r == 0 && i < run->options->threads; i++) {
		struct worker *worker = &run->workers[i];

		if (worker->tally)
			r = tally_merge(first->tally, worker->tally);
		if (r < 0)
			return r;
		if (worker->heat)
			r = heat_merge(first->heat, worker->heat);
	}
	return r;
}

/*
 * A tally of threads, cgroups or paths needs what digests lack. A tally and a grid at the same time
 * would count the rest of a grid twice.
 */
static bool uses_digests(const struct window_sums_options *options)
{
	return !options->samples_only && !(options->parts && options->grid) &&
	       (!options->parts || tally_by_has_sums(options->by));
}

static int window_sums_run(struct run *run, struct store_reader *reader,
			   struct window_sums *ret_sums, struct error *error)
{
	const struct window_sums_options *options = run->options;
	const struct scan_options scan = {
		.question = options->question,
		.threads = options->threads,
		.add = window_sums_add,
		.add_digest = uses_digests(options) ? window_sums_add_digest : NULL,
		.pictures = options->grid && options->grid->by == HEAT_FRACTIONS,
		.context = run,
		.progress = options->progress,
		.progress_context = options->progress_context,
	};
	_cleanup_(scanned_done) struct scanned scanned = { 0 };
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < options->threads; i++)
		r = worker_init(options, &run->workers[i]);
	if (r < 0)
		return r;
	r = scan_run(reader, &scan, &scanned, error);
	if (r < 0)
		return r;
	r = merge_workers(run);
	if (r < 0)
		return r;
	*ret_sums = (struct window_sums){
		.tally = take_ptr(run->workers[0].tally),
		.heat = take_ptr(run->workers[0].heat),
		.coverage = scanned.coverage,
		.samples = scanned.samples,
		.segments = scanned.segments,
		.digested = scanned.digested,
	};
	/* the sums own the gaps now */
	scanned = (struct scanned){ 0 };
	return 0;
}

int window_sums_read(struct store_reader *reader, const struct window_sums_options *options,
		     struct window_sums *ret_sums, struct error *error)
{
	struct run run = {
		.options = options,
		.workers = calloc(options->threads, sizeof(*run.workers)),
	};
	int r = run.workers ? window_sums_run(&run, reader, ret_sums, error) : -ENOMEM;

	for (unsigned int i = 0; run.workers && i < options->threads; i++) {
		tally_free(run.workers[i].tally);
		heat_free(run.workers[i].heat);
	}
	free(run.workers);
	return r;
}

void window_sums_done(struct window_sums *sums)
{
	sums->tally = tally_free(sums->tally);
	sums->heat = heat_free(sums->heat);
	array_done(&sums->coverage.gaps);
}
