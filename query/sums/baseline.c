// SPDX-License-Identifier: GPL-2.0-only
#include "query/sums/baseline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "query/read/window-filter.h"
#include "query/sums/kept-baseline.h"
#include "query/sums/tally-tape.h"
#include "tape/digest.h"
#include "base/workers.h"

#define SLICE_NS (10 * NSEC_PER_SEC)
/* The least recorded time of a baseline. With less time, its values may be chance. */
#define LEAST_NS NSEC_PER_SEC

/* A part of a segment. */
struct piece {
	const struct store_segment *segment;
	/* the time whose samples are read */
	uint64_t from_ns, to_ns;
	/* also use the sums of the whole segment */
	bool summed;
};

/* The lock protects the counts of the result, and the hook. */
struct run {
	const struct baseline_options *options;
	struct store_reader *reader;
	struct store_segments segments;
	array_of(struct piece) pieces;
	/* one per worker */
	struct tally **tallies;
	pthread_mutex_t lock;
	struct baseline baseline;
};

static bool is_apart(const struct run *run, const struct store_segment *segment)
{
	const struct window *window = &run->options->question.window;

	return segment->end_ns <= window->from_ns || segment->begin_ns >= window->to_ns;
}

/*
 * Adds ten seconds of the segment, at a place that varies from segment to segment. At a fixed
 * place, something that runs every two minutes would be in all of these pieces or in none.
 *
 * Threads of one name have few samples, so all of them are read. Sums of stacks would give only
 * the rows of names, and the rows of CPUs would have another usual value.
 */
static int add_slice(struct run *run, const struct store_segment *segment)
{
	const struct filter *filter = run->options->question.filter;
	uint64_t length_ns = segment->end_ns - segment->begin_ns;
	bool all = filter_passes_all(filter);
	struct piece piece = { segment, segment->begin_ns, segment->end_ns,
			       !segment->unsealed && all && tally_by_has_sums(run->options->by) };
	bool whole = segment->unsealed || (filter_is_by_comm(filter) && !all);

	if (!whole && length_ns > SLICE_NS) {
		piece.from_ns += hash_u64(segment->sequence) % (length_ns - SLICE_NS);
		piece.to_ns = piece.from_ns + SLICE_NS;
	}
	return array_push(&run->pieces, piece);
}

/* Adds the parts of the window's own segments that lie outside of the window. */
static int add_rest(struct run *run, const struct store_segment *segment)
{
	const struct window *window = &run->options->question.window;
	int r = 0;

	if (segment->begin_ns < window->from_ns)
		r = array_push(&run->pieces, (struct piece){ segment, segment->begin_ns,
							     window->from_ns, false });
	if (r < 0)
		return r;
	if (segment->end_ns > window->to_ns)
		r = array_push(&run->pieces,
			       (struct piece){ segment, window->to_ns, segment->end_ns, false });
	return r;
}

static int add_pieces(struct run *run, bool apart)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->segments.list.count; i++) {
		const struct store_segment *segment = &run->segments.list.items[i];

		if (!*segment->damage && is_apart(run, segment) == apart)
			r = apart ? add_slice(run, segment) : add_rest(run, segment);
	}
	return r;
}

/*
 * Orders the pieces by halves, quarters, eighths. Whenever the workers stop, the pieces that they
 * have read are evenly spread.
 */
static int baseline_spread(struct run *run)
{
	size_t count = run->pieces.count, bits = 0, next = 0;
	struct piece *ordered = malloc(MAX(count, (size_t)1) * sizeof(*ordered));

	if (!ordered)
		return -ENOMEM;
	while (((size_t)1 << bits) < count)
		bits++;
	for (size_t i = 0; i < (size_t)1 << bits; i++) {
		size_t at = 0;

		for (size_t bit = 0; bit < bits; bit++)
			at |= (i >> bit & 1) << (bits - 1 - bit);
		if (at < count)
			ordered[next++] = run->pieces.items[at];
	}
	free(run->pieces.items);
	run->pieces.items = ordered;
	return 0;
}

static int baseline_name_frames(struct run *run, struct tape *tape)
{
	const struct question *question = &run->options->question;
	int r;

	if (!tape->unsealed || !question->name)
		return 0;
	pthread_mutex_lock(&run->lock);
	r = question->name(question->context, tape);
	pthread_mutex_unlock(&run->lock);
	return r;
}

static void baseline_count(struct run *run, const struct piece *piece, uint64_t slice_ns)
{
	struct baseline *baseline = &run->baseline;
	uint64_t begin_ns = piece->summed ? piece->segment->begin_ns : piece->from_ns;
	uint64_t end_ns = piece->summed ? piece->segment->end_ns : piece->to_ns;

	pthread_mutex_lock(&run->lock);
	baseline->from_ns = baseline->segments ? MIN(baseline->from_ns, begin_ns) : begin_ns;
	baseline->to_ns = MAX(baseline->to_ns, end_ns);
	baseline->cpus_ns += slice_ns;
	baseline->names_ns += end_ns - begin_ns;
	baseline->segments++;
	pthread_mutex_unlock(&run->lock);
}

static int baseline_add_tape(struct run *run, struct tally *tally, const struct piece *piece,
			     struct tape *tape)
{
	const struct filter *filter = run->options->question.filter;
	const struct window slice = { .from_ns = piece->from_ns, .to_ns = piece->to_ns };
	uint64_t sample_ns = stack_class_sample_ns(tape, piece->segment->samples), error_ns = 0;
	_cleanup_(window_filter_times_done) struct window_filter_times times = { 0 };
	int r = baseline_name_frames(run, tape);

	if (r < 0)
		return r;
	if (piece->summed)
		r = tally_add_sums(tally, tape, sample_ns);
	if (r < 0)
		return r;
	r = window_filter_samples(tape, &slice, filter, &error_ns, &times);
	if (r < 0)
		return r;
	r = tally_add_samples(tally, tape, times.kinds, sample_ns,
			      piece->summed ? TALLY_CPUS : TALLY_CPUS | TALLY_NAMES);
	if (r < 0)
		return r;
	baseline_count(run, piece, piece->to_ns - piece->from_ns);
	return 0;
}

static int baseline_load(struct run *run, const struct piece *piece, unsigned int parts,
			 struct tape **ret_tape)
{
	const struct segment_want want = { piece->from_ns, piece->to_ns, parts, .threads = 1 };

	return store_reader_load(run->reader, piece->segment, &want, ret_tape, NULL);
}

/*
 * Adds the digest of a whole segment, which has names and CPUs. Returns 0, 1 if the segment must be
 * read, or a negative errno.
 */
static int baseline_add_digest(struct run *run, struct tally *tally, const struct piece *piece)
{
	const struct store_segment *segment = piece->segment;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r;

	if (!piece->summed || !filter_passes_all(run->options->question.filter))
		return 1;
	r = baseline_load(run, piece, SEGMENT_DIGEST, &tape);
	if (r < 0 || !tape->digest || tape->digest->samples != segment->samples)
		return r == -ENOMEM ? r : 1;
	r = tally_add_digest(tally, tape, stack_class_sample_ns(tape, segment->samples),
			     TALLY_CPUS | TALLY_NAMES);
	if (r < 0)
		return r;
	baseline_count(run, piece, segment->end_ns - segment->begin_ns);
	return 0;
}

/*
 * Skips a segment that cannot be read. The answer about the window reports the segment; for the
 * baseline, the other segments are enough.
 */
static int baseline_work(void *context, unsigned int worker, size_t item)
{
	struct run *run = context;
	const struct piece *piece = &run->pieces.items[item];
	unsigned int parts = piece->summed ? SEGMENT_SAMPLES | SEGMENT_SUMS : SEGMENT_SAMPLES;
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = baseline_add_digest(run, run->tallies[worker], piece);

	if (r <= 0)
		return r;
	r = baseline_load(run, piece, parts, &tape);
	if (r == 0)
		return baseline_add_tape(run, run->tallies[worker], piece, tape);
	if (r == -ENOMEM)
		return r;
	pthread_mutex_lock(&run->lock);
	run->baseline.unread++;
	pthread_mutex_unlock(&run->lock);
	return 0;
}

static uint64_t baseline_cost(void *context, size_t item)
{
	struct run *run = context;

	return store_reader_memory(run->reader, run->pieces.items[item].segment);
}

static int baseline_run_workers(struct run *run)
{
	const struct baseline_options *options = run->options;
	const struct workers workers = {
		.threads = options->threads,
		.count = run->pieces.count,
		.work = baseline_work,
		.context = run,
		.cost = baseline_cost,
		.memory_bytes = LOADER_MEMORY_BYTES,
		.until_ns = clock_ns(CLOCK_MONOTONIC) + options->limit_ns,
	};
	size_t done;
	int r = 0;

	run->tallies = calloc(options->threads, sizeof(*run->tallies));
	if (!run->tallies)
		return -ENOMEM;
	for (unsigned int i = 0; r == 0 && i < options->threads; i++)
		r = tally_new(&run->tallies[i]);
	for (unsigned int i = 0; r == 0 && i < options->threads; i++)
		run->tallies[i]->by = options->by;
	if (r < 0)
		return r;
	r = workers_run(&workers, &done);
	for (unsigned int i = 1; r == 0 && i < options->threads; i++)
		r = tally_merge(run->tallies[0], run->tallies[i]);
	if (r < 0)
		return r;
	run->baseline.tally = take_ptr(run->tallies[0]);
	return r;
}

static int baseline_find(struct run *run, struct error *error)
{
	const struct window *window = &run->options->question.window;
	uint64_t around_ns = run->options->around_ns;
	int r = store_reader_find(run->reader, window->from_ns - MIN(around_ns, window->from_ns),
				  window->to_ns + MIN(around_ns, UINT64_MAX - window->to_ns),
				  &run->segments, error);

	if (r < 0)
		return r;
	r = add_pieces(run, true);
	if (r < 0)
		return r;
	if (!run->pieces.count) {
		r = add_pieces(run, false);
		run->baseline.rest = true;
	}
	run->baseline.of = run->pieces.count;
	return r < 0 ? r : baseline_spread(run);
}

/*
 * Returns whether the stored baseline fits the filter. The stored baseline covers all samples. It
 * also fits a filter that only removes idle time, because idle time counts only for CPUs.
 */
static bool is_of_all(const struct filter *filter)
{
	return !filter_has_threads(filter) && !filter->cpus.wanted.count &&
	       filter->frames == FILTER_FRAMES_ALL;
}

/*
 * Reads the baseline that a snapshot contains. Ignores segments that cannot be read. Returns 1, or
 * 0 if the store contains no baseline.
 */
static int baseline_read_kept(struct store_reader *reader, const struct baseline_options *options,
			      struct baseline *ret_baseline, struct error *error)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	int r;

	if (!store_reader_is_file(reader))
		return 0;
	r = store_reader_find(reader, 0, UINT64_MAX, &segments, error);
	for (size_t i = segments.list.count; r == 0 && i-- > 0;) {
		_cleanup_(cleanup_tape) struct tape *tape = NULL;
		int loaded = store_reader_load(reader, &segments.list.items[i], &want, &tape, NULL);

		if (loaded == 0)
			r = kept_baseline_read(tape, ret_baseline);
		else if (error_is_exhaustion(loaded))
			r = loaded;
	}
	if (r != 1 || (is_of_all(options->question.filter) && tally_by_has_sums(options->by)))
		return r;
	baseline_done(ret_baseline);
	*ret_baseline = (struct baseline){ .unfiltered = true };
	return 1;
}

/* with almost no recorded time, a baseline would make everything look unusual */
static void baseline_judge(struct baseline *baseline)
{
	if (baseline->names_ns >= LEAST_NS && baseline->tally->samples)
		return;
	baseline->names_ns = baseline->cpus_ns = 0;
}

static void baseline_run_done(struct run *run)
{
	for (unsigned int i = 0; run->tallies && i < run->options->threads; i++)
		tally_free(run->tallies[i]);
	free(run->tallies);
	array_done(&run->pieces);
	array_done(&run->segments.list);
	pthread_mutex_destroy(&run->lock);
}

int baseline_make(struct store_reader *reader, const struct baseline_options *options,
		  struct baseline *ret_baseline, struct error *error)
{
	_cleanup_(baseline_run_done) struct run run = {
		.options = options,
		.reader = reader,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int r = baseline_read_kept(reader, options, ret_baseline, error);

	if (r != 0)
		return MIN(r, 0);
	r = baseline_find(&run, error);
	if (r < 0)
		return r;
	r = baseline_run_workers(&run);
	if (r < 0)
		return r;
	*ret_baseline = run.baseline;
	baseline_judge(ret_baseline);
	return 0;
}

void baseline_done(struct baseline *baseline)
{
	baseline->tally = tally_free(baseline->tally);
}
