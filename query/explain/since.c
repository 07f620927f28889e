// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/since.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/workers.h"
#include "tape/digest.h"

/* At least this many segments stand on each side of a change. */
#define SIDE_LEAST 3
#define RATIO_LEAST 2
/* The least distance of the means, in standard errors. Many places are tried. */
#define ERRORS_LEAST 5
/* The scatter that is added to each side, in CPUs: a row without time has no scatter of its own. */
#define FLOOR 0.002
/* This number of segments is read without a limit of time. */
#define FEW 8

/* The time of the row in one segment. */
struct since_point {
	uint64_t begin_ns, end_ns;
	/* in CPUs; NAN: not read */
	double share;
};

struct since {
	const struct since_options *options;
	struct store_reader *reader;
	struct store_segments segments;
	/* the order of reading */
	array_of(size_t) order;
	array_of(struct since_point) points;
	const char *function;
};

struct since_side {
	double sum, squares;
	size_t count;
};

static void side_add(struct since_side *side, double value, int sign)
{
	side->sum += sign * value;
	side->squares += sign * value * value;
	side->count += sign;
}

static double side_mean(const struct since_side *side)
{
	return side->sum / side->count;
}

/* Returns the square of the mean's standard error. */
static double side_error(const struct since_side *side)
{
	double mean = side_mean(side), variance = side->squares / side->count - mean * mean;

	return (MAX(variance, 0.0) + FLOOR * FLOOR) / side->count;
}

size_t since_change(const double *values, size_t count)
{
	struct since_side before = { 0 }, after = { 0 };
	double best = ERRORS_LEAST;
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		side_add(&after, values[i], 1);
	for (size_t i = 1; i + SIDE_LEAST <= count; i++) {
		double errors;

		side_add(&before, values[i - 1], 1);
		side_add(&after, values[i - 1], -1);
		if (i < SIDE_LEAST || side_mean(&after) < RATIO_LEAST * side_mean(&before))
			continue;
		errors = (side_mean(&after) - side_mean(&before)) /
			 sqrt(side_error(&before) + side_error(&after));
		if (errors > best) {
			best = errors;
			found = i;
		}
	}
	return found;
}

static uint64_t since_total(const struct tape *tape, const char *function)
{
	const struct digest *digest = tape->digest;
	uint32_t string = strings_find(&tape->strings, function, strlen(function));

	for (size_t i = 0; string && i < digest->functions.count; i++)
		if (digest->functions.items[i].string == string &&
		    !digest->functions.items[i].is_module)
			return digest->functions.items[i].total;
	return 0;
}

/* Adds up the stacks with the function. A parent has a smaller number than its callees. */
static int since_count_stacks(const struct tape *tape, const char *function, uint64_t *ret_total)
{
	uint32_t string = strings_find(&tape->strings, function, strlen(function));
	_cleanup_free_ bool *has = calloc(MAX(tape->stacks.count, 1u), sizeof(*has));

	if (!has)
		return -ENOMEM;
	*ret_total = 0;
	for (size_t i = 1; string && i < tape->stacks.count; i++) {
		const struct tape_stack *stack = &tape->stacks.items[i];

		has[i] = has[stack->parent] || tape->frames.items[stack->frame].symbol == string;
	}
	for (size_t i = 0; string && i < tape->sums.count; i++) {
		const struct tape_sum *sum = &tape->sums.items[i];

		if (has[sum->stack] || tape->frames.items[sum->frame].symbol == string)
			*ret_total += sum->count;
	}
	return 0;
}

/* Reads a segment that is too small for a digest. Leaves *ret_share if it cannot be read. */
static int since_read_stacks(struct since *since, const struct store_segment *segment,
			     double *ret_share)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_SUMS, 1 };
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	uint64_t total;
	int r = store_reader_load(since->reader, segment, &want, &tape, NULL);

	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	r = since_count_stacks(tape, since->function, &total);
	if (r < 0)
		return r;
	*ret_share = (double)total * stack_class_sample_ns(tape, segment->samples) /
		     (segment->end_ns - segment->begin_ns);
	return 0;
}

static int since_read(void *context, unsigned int worker, size_t item)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_DIGEST, 1 };
	struct since *since = context;
	const struct store_segment *segment = &since->segments.list.items[since->order.items[item]];
	struct since_point *point = &since->points.items[since->order.items[item]];
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = *segment->damage || segment->unsealed
			? -EBADMSG
			: store_reader_load(since->reader, segment, &want, &tape, NULL);

	if (error_is_exhaustion(r))
		return r;
	if (r < 0 || segment->end_ns <= segment->begin_ns)
		return 0;
	if (!tape->digest || tape->digest->samples != segment->samples)
		return since_read_stacks(since, segment, &point->share);
	point->share = (double)since_total(tape, since->function) *
		       stack_class_sample_ns(tape, segment->samples) /
		       (segment->end_ns - segment->begin_ns);
	return 0;
}

/* Puts the segments into the order of halves, quarters, eighths. */
static int since_spread(struct since *since)
{
	size_t count = since->segments.list.count, bits = 0;

	while (((size_t)1 << bits) < count)
		bits++;
	for (size_t i = 0; i < (size_t)1 << bits; i++) {
		size_t at = 0;

		for (size_t bit = 0; bit < bits; bit++)
			at |= (i >> bit & 1) << (bits - 1 - bit);
		if (at < count && array_push(&since->order, at) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int since_read_all(struct since *since)
{
	struct workers workers = {
		.threads = since->options->threads,
		.count = since->segments.list.count,
		.work = since_read,
		.context = since,
		.until_ns = since->segments.list.count <= FEW
				    ? 0
				    : clock_ns(CLOCK_MONOTONIC) + since->options->limit_ns,
	};
	size_t done;
	int r = since_spread(since);

	for (size_t i = 0; r == 0 && i < since->segments.list.count; i++)
		r = array_push(&since->points,
			       (struct since_point){ since->segments.list.items[i].begin_ns,
						     since->segments.list.items[i].end_ns, NAN });
	return r < 0 ? r : workers_run(&workers, &done);
}

static double since_mean(const double *values, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += values[i];
	return to > from ? sum / (to - from) : NAN;
}

static int since_judge(struct since *since, struct evidence_since *result)
{
	_cleanup_free_ double *values = calloc(MAX(since->points.count, 1u), sizeof(*values));
	_cleanup_free_ size_t *places = calloc(MAX(since->points.count, 1u), sizeof(*places));
	size_t count = 0, change;

	if (!values || !places)
		return -ENOMEM;
	for (size_t i = 0; i < since->points.count; i++)
		if (!isnan(since->points.items[i].share)) {
			places[count] = i;
			values[count++] = since->points.items[i].share;
		}
	result->segments = count;
	if (!count)
		return 0;
	result->first_ns = since->points.items[places[0]].begin_ns;
	change = since_change(values, count);
	result->changed = change > 0;
	result->before = since_mean(values, 0, change ? change : count);
	result->after = since_mean(values, change, count);
	if (change) {
		result->from_ns = since->points.items[places[change - 1]].end_ns;
		result->at_ns = since->points.items[places[change]].begin_ns;
	}
	return 0;
}

static void since_done(struct since *since)
{
	array_done(&since->segments.list);
	array_done(&since->order);
	array_done(&since->points);
}

int since_find(struct store_reader *reader, const struct since_options *options,
	       struct evidence *evidence, struct error *error)
{
	const struct evidence_core *core = evidence->cores;
	_cleanup_(since_done) struct since since = { .options = options, .reader = reader };
	uint64_t to_ns = evidence->stall_from_ns;
	int r;

	if (!evidence->core_count || !core->full || !core->path_count)
		return 0;
	evidence->since.function = core->path[core->path_count - 1].function;
	since.function = evidence_name(evidence, evidence->since.function);
	r = store_reader_find(reader, to_ns - MIN(options->around_ns, to_ns), to_ns,
			      &since.segments, error);
	if (r < 0)
		return r;
	/* the stall's own segment is not before it */
	while (since.segments.list.count &&
	       since.segments.list.items[since.segments.list.count - 1].end_ns > to_ns)
		since.segments.list.count--;
	r = since_read_all(&since);
	return r < 0 ? r : since_judge(&since, &evidence->since);
}
