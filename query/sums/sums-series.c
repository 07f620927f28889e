// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each worker adds its segments to one growing tally, because finding all names anew for each
 * segment would cost more than the sums. A value of a stretch is the growth of a row.
 */
#include "query/sums/sums-series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/read/scan.h"
#include "query/sums/tally-tape.h"

#define PARTS (TALLY_CPUS | TALLY_NAMES)

/* A stretch and the place of its values in the worker. */
struct record {
	struct sums_series_stretch stretch;
	char name[64];
	uint64_t offset;
	const struct sums_series_value *values;
};

/* The rows of a tally at one moment. */
struct state {
	struct stack_class all;
	uint64_t samples;
	struct sums_series_value *values;
};

struct worker {
	struct tally *tally;
	struct state before, after;
	array_of(struct record) records;
};

struct run {
	const struct sums_series_options *options;
	struct worker *workers;
	struct sums_series series;
	array_of(struct record) records;
};

static struct sums_series_value series_row_value(const struct tally *tally,
						 const struct sums_series_row *row)
{
	struct sums_series_value value = { 0 };
	uint32_t name;

	if (row->kind == SUMS_SERIES_CPU) {
		if (row->cpu < tally->cpus.count)
			value.spent = tally->cpus.items[row->cpu];
		return value;
	}
	name = strings_count(&tally->names) > 1
		       ? strings_find(&tally->names, row->name, strlen(row->name))
		       : 0;
	if (name && row->kind == SUMS_SERIES_GROUP)
		value.spent = tally->groups.items[name];
	if (name && row->kind == SUMS_SERIES_FUNCTION) {
		value.self_ns = tally->functions.items[name].self_ns;
		value.total_ns = tally->functions.items[name].total_ns;
	}
	return value;
}

static void series_look(const struct sums_series_options *options, const struct tally *tally,
			struct state *state)
{
	state->all = tally->all;
	state->samples = tally->samples;
	for (size_t i = 0; i < options->count; i++)
		state->values[i] = series_row_value(tally, &options->rows[i]);
}

static void series_subtract(struct stack_class *times, const struct stack_class *before)
{
	for (int kind = 0; kind < STACK_CLASS_KINDS; kind++)
		times->ns[kind] -= before->ns[kind];
}

static struct sums_series_stretch series_stretch(const struct sums_series_options *options,
						 const struct store_segment *segment)
{
	const struct window *window = &options->question.window;

	return (struct sums_series_stretch){
		.from_ns = MAX(segment->begin_ns, window->from_ns),
		.to_ns = MIN(segment->end_ns, window->to_ns),
	};
}

/* Appends what the tally grew by since `before` as the stretch of a segment. */
static int series_record(const struct run *run, struct worker *worker,
			 const struct store_segment *segment, bool digested)
{
	size_t count = run->options->count;
	_cleanup_free_ struct sums_series_value *values = calloc(count + 1, sizeof(*values));
	struct record record = { .stretch = series_stretch(run->options, segment),
				 .offset = segment->offset,
				 .values = values };

	if (!values)
		return -ENOMEM;
	series_look(run->options, worker->tally, &worker->after);
	memcpy(record.name, segment->name, sizeof(record.name));
	record.stretch.digested = digested;
	record.stretch.samples = worker->after.samples - worker->before.samples;
	record.stretch.all = worker->after.all;
	series_subtract(&record.stretch.all, &worker->before.all);
	for (size_t i = 0; i < count; i++) {
		const struct sums_series_value *before = &worker->before.values[i];

		values[i] = worker->after.values[i];
		series_subtract(&values[i].spent, &before->spent);
		values[i].self_ns -= before->self_ns;
		values[i].total_ns -= before->total_ns;
	}
	if (array_push(&worker->records, record) < 0)
		return -ENOMEM;
	take_ptr(values);
	return 0;
}

static int series_add(void *context, unsigned int number, const struct store_segment *segment,
		      const struct tape *tape, const struct window_filter_times *times)
{
	const struct run *run = context;
	struct worker *worker = &run->workers[number];
	int r;

	series_look(run->options, worker->tally, &worker->before);
	r = tally_add_samples(worker->tally, tape, times->kinds,
			      stack_class_sample_ns(tape, segment->samples), PARTS);
	return r < 0 ? r : series_record(run, worker, segment, false);
}

static int series_add_digest(void *context, unsigned int number,
			     const struct store_segment *segment, const struct tape *tape,
			     struct scan_rest *rest)
{
	const struct run *run = context;
	struct worker *worker = &run->workers[number];
	int r;

	(void)rest;
	series_look(run->options, worker->tally, &worker->before);
	r = tally_add_digest(worker->tally, tape, stack_class_sample_ns(tape, segment->samples),
			     PARTS);
	return r < 0 ? r : series_record(run, worker, segment, true);
}

static int series_compare_names(const void *a, const void *b)
{
	const struct record *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : (left->offset > right->offset) - (left->offset < right->offset);
}

static int series_compare_times(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	if (left->stretch.from_ns != right->stretch.from_ns)
		return left->stretch.from_ns < right->stretch.from_ns ? -1 : 1;
	return series_compare_names(a, b);
}

static void series_sort(struct run *run, int (*compare)(const void *, const void *))
{
	if (run->records.count)
		qsort(run->records.items, run->records.count, sizeof(*run->records.items), compare);
}

/* Adds the segments from which no sample passed, or which could not be read. */
static int series_add_others(struct run *run, struct store_reader *reader, struct error *error)
{
	const struct window *window = &run->options->question.window;
	_cleanup_(store_segments_done) struct store_segments segments = { 0 };
	size_t known = run->records.count;
	int r = store_reader_find(reader, window->from_ns, window->to_ns, &segments, error);

	series_sort(run, series_compare_names);
	for (size_t i = 0; r == 0 && i < segments.list.count; i++) {
		const struct store_segment *segment = &segments.list.items[i];
		struct record record = { .stretch = series_stretch(run->options, segment),
					 .offset = segment->offset };

		memcpy(record.name, segment->name, sizeof(record.name));
		if (!known || !bsearch(&record, run->records.items, known, sizeof(record),
				       series_compare_names))
			r = array_push(&run->records, record);
	}
	return r;
}

static uint64_t series_covered_ns(const struct coverage *coverage, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t covered_ns = to_ns > from_ns ? to_ns - from_ns : 0;

	for (size_t i = 0; i < coverage->gaps.count; i++) {
		const struct coverage_gap *gap = &coverage->gaps.items[i];
		uint64_t first_ns = MAX(gap->from_ns, from_ns), last_ns = MIN(gap->to_ns, to_ns);

		/* a gap of single CPUs leaves the others covered */
		if (!*gap->cpus && first_ns < last_ns)
			covered_ns -= MIN(covered_ns, last_ns - first_ns);
	}
	return covered_ns;
}

static int series_collect(struct run *run, struct store_reader *reader, struct error *error)
{
	static const struct sums_series_value nothing;
	struct sums_series *series = &run->series;
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < run->options->threads; i++)
		for (size_t j = 0; r == 0 && j < run->workers[i].records.count; j++)
			r = array_push(&run->records, run->workers[i].records.items[j]);
	if (r == 0)
		r = series_add_others(run, reader, error);
	series_sort(run, series_compare_times);
	for (size_t i = 0; r == 0 && i < run->records.count; i++) {
		const struct record *record = &run->records.items[i];
		struct sums_series_stretch stretch = record->stretch;

		stretch.covered_ns =
			series_covered_ns(&series->coverage, stretch.from_ns, stretch.to_ns);
		r = array_push(&series->stretches, stretch);
		for (size_t j = 0; r == 0 && j < series->rows; j++)
			r = array_push(&series->values,
				       record->values ? record->values[j] : nothing);
	}
	return r;
}

static int series_begin_worker(const struct sums_series_options *options, struct worker *worker)
{
	size_t size = sizeof(struct sums_series_value);

	worker->before.values = calloc(options->count + 1, size);
	worker->after.values = calloc(options->count + 1, size);
	return worker->before.values && worker->after.values ? tally_new(&worker->tally) : -ENOMEM;
}

static void series_end_worker(struct worker *worker)
{
	for (size_t i = 0; i < worker->records.count; i++)
		free((void *)worker->records.items[i].values);
	array_done(&worker->records);
	tally_free(worker->tally);
	free(worker->before.values);
	free(worker->after.values);
}

static int sums_series_run_all(struct run *run, struct store_reader *reader, struct error *error)
{
	const struct sums_series_options *options = run->options;
	const struct scan_options scan = {
		.question = options->question,
		.threads = options->threads,
		.add = series_add,
		.add_digest = series_add_digest,
		.context = run,
		.progress = options->progress,
		.progress_context = options->progress_context,
	};
	struct scanned scanned = { 0 };
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < options->threads; i++)
		r = series_begin_worker(options, &run->workers[i]);
	if (r == 0)
		r = scan_run(reader, &scan, &scanned, error);
	run->series.rows = options->count;
	run->series.coverage = scanned.coverage;
	run->series.samples = scanned.samples;
	return r < 0 ? r : series_collect(run, reader, error);
}

int sums_series_read(struct store_reader *reader, const struct sums_series_options *options,
		     struct sums_series *ret_series, struct error *error)
{
	struct run run = {
		.options = options,
		.workers = calloc(options->threads, sizeof(*run.workers)),
	};
	int r = run.workers ? sums_series_run_all(&run, reader, error) : -ENOMEM;

	for (unsigned int i = 0; run.workers && i < options->threads; i++)
		series_end_worker(&run.workers[i]);
	free(run.workers);
	array_done(&run.records);
	if (r < 0)
		sums_series_done(&run.series);
	else
		*ret_series = run.series;
	return r;
}

void sums_series_done(struct sums_series *series)
{
	array_done(&series->stretches);
	array_done(&series->values);
	array_done(&series->coverage.gaps);
}
