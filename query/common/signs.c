// SPDX-License-Identifier: GPL-2.0-only
/*
 * What would have warned? A gauge that stands out has a level that separates incidents from
 * controls. Readings over the whole recording, evenly spread, say since when it was at that level
 * before each incident, and how much of the time it was there in vain.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/workers.h"
#include "query/common/common-internal.h"
#include "tape/tape.h"

/* The readings of all hosts together. */
#define READINGS 800
/* Readings may take this part of the time for controls. */
#define LIMIT_PART 3
/* A warning after which no incident comes for this long was in vain. */
#define VAIN_NS (48 * 3600 * NSEC_PER_SEC)
/* A gauge may need this long to fall after an incident. */
#define FALL_NS (3600 * NSEC_PER_SEC)
/*
 * The number of levels to try, and the largest part of the time for which a gauge may warn in vain.
 */
#define LEVELS 48
#define VAIN_MOST 0.01
/* A level that warns before less than this part of the incidents is worth less. */
#define REACHED_LEAST 0.9

/* A segment that is read, and the figures of the signs in it. */
struct signs_reading {
	uint32_t host;
	size_t segment;
	double figures[COMMON_SIGNS];
};

struct signs {
	struct common_run *run;
	const struct common_matrix *matrix;
	/* the gauges that stand out */
	struct common_row gauges[COMMON_SIGNS];
	size_t count;
	/* in the order of hosts and time */
	array_of(struct signs_reading) readings;
	/* the order of reading */
	array_of(size_t) order;
};

static void signs_add_gauge(struct signs *signs, const struct common_row *row)
{
	if (row->kind != COMMON_GAUGE || signs->count == COMMON_SIGNS - 1)
		return;
	for (size_t i = 0; i < signs->count; i++)
		if (signs->gauges[i].name == row->name)
			return;
	signs->gauges[signs->count++] = *row;
}

static void signs_add_gauges(struct signs *signs)
{
	const struct common_answer *answer = signs->run->answer;

	for (size_t i = 0; i < answer->trait_count; i++) {
		const struct common_trait *trait = &answer->traits[i];

		signs_add_gauge(signs, &trait->lead);
		for (size_t j = 0; j < trait->companion_count; j++)
			signs_add_gauge(signs, &trait->companions[j]);
	}
}

/* Chooses the segments: evenly spread over the recording of each host. */
static int signs_choose(struct signs *signs)
{
	size_t hosts = signs->run->hosts.count, each = READINGS / MAX(hosts, (size_t)1);

	for (uint32_t host = 0; host < hosts; host++) {
		size_t count = signs->run->hosts.items[host].segments.count;
		size_t taken = MIN(count, MAX(each, (size_t)2));

		for (size_t i = 0; i < taken; i++) {
			struct signs_reading reading = { host, i * count / taken, { 0 } };

			for (size_t sign = 0; sign < COMMON_SIGNS; sign++)
				reading.figures[sign] = NAN;
			if (array_push(&signs->readings, reading) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Orders the readings by halves, quarters, eighths. Whenever the time is up, the readings that are
 * done are evenly spread.
 */
static int signs_spread(struct signs *signs)
{
	size_t count = signs->readings.count, bits = 0;

	while (((size_t)1 << bits) < count)
		bits++;
	for (size_t i = 0; i < (size_t)1 << bits; i++) {
		size_t at = 0;

		for (size_t bit = 0; bit < bits; bit++)
			at |= (i >> bit & 1) << (bits - 1 - bit);
		if (at < count && array_push(&signs->order, at) < 0)
			return -ENOMEM;
	}
	return 0;
}

static const struct store_segment *signs_segment(const struct signs *signs,
						 const struct signs_reading *reading)
{
	return &signs->run->hosts.items[reading->host].segments.items[reading->segment].about;
}

static void signs_take(const struct signs *signs, const struct tape *tape,
		       const struct store_segment *about, struct signs_reading *reading)
{
	for (size_t i = 0; i < tape->gauges.count; i++) {
		char name[128];
		const char *counts = common_window_gauges_name(
			tape_string(tape, tape->gauges.items[i].name), name);
		double figure;

		for (size_t sign = 0; counts && sign < signs->count; sign++) {
			double *to = &reading->figures[sign];

			if (strcmp(common_name(signs->run->answer, signs->gauges[sign].name),
				   counts) != 0 ||
			    !common_window_gauges_figure(tape, i, about->begin_ns, about->end_ns,
							 &figure))
				continue;
			*to = isnan(*to) ? figure : MAX(*to, figure);
		}
	}
}

static int signs_work(void *context, unsigned int worker, size_t item)
{
	static const struct segment_want want = { 0, UINT64_MAX, SEGMENT_CONTEXT, 1 };
	struct signs *signs = context;
	struct signs_reading *reading = &signs->readings.items[signs->order.items[item]];
	const struct common_host *host = &signs->run->hosts.items[reading->host];
	const struct common_segment *segment = &host->segments.items[reading->segment];
	_cleanup_(cleanup_tape) struct tape *tape = NULL;
	int r = *segment->about.damage
			? -EBADMSG
			: store_reader_load(signs->run->options->stores[segment->store].reader,
					    &segment->about, &want, &tape, NULL);

	if (r < 0)
		return error_is_exhaustion(r) ? r : 0;
	signs_take(signs, tape, &segment->about, reading);
	return 0;
}

static int signs_read(struct signs *signs)
{
	struct workers workers = {
		.threads = signs->run->options->threads,
		.work = signs_work,
		.context = signs,
	};
	uint64_t bytes = 0;
	size_t done;
	int r = signs_choose(signs);

	if (r < 0)
		return r;
	r = signs_spread(signs);
	if (r < 0)
		return r;
	workers.count = signs->readings.count;
	for (size_t i = 0; i < signs->readings.count; i++)
		bytes += signs_segment(signs, &signs->readings.items[i])->bytes;
	if (bytes > COMMON_FEW_BYTES)
		workers.until_ns =
			clock_ns(CLOCK_MONOTONIC) + signs->run->options->limit_ns / LIMIT_PART;
	return workers_run(&workers, &done);
}

static bool signs_reaches(const struct common_row *row, double figure)
{
	return row->below ? figure <= row->level : figure >= row->level;
}

static int signs_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/*
 * Returns how long before an incident the gauge reached its level for good. Sets *ret_begin if the
 * recording begins with it. Readings that do not have the gauge do not count.
 */
static uint64_t signs_before(const struct signs *signs, size_t sign, const struct common_case *of,
			     bool *ret_begin)
{
	uint64_t since_ns = of->stall_from_ns;

	*ret_begin = true;
	for (size_t i = signs->readings.count; i-- > 0;) {
		const struct signs_reading *reading = &signs->readings.items[i];
		const struct store_segment *segment = signs_segment(signs, reading);

		if (reading->host != of->host || segment->end_ns > of->stall_from_ns ||
		    isnan(reading->figures[sign]))
			continue;
		if (!signs_reaches(&signs->gauges[sign], reading->figures[sign])) {
			*ret_begin = false;
			break;
		}
		since_ns = segment->begin_ns;
	}
	return of->stall_to_ns - MIN(since_ns, of->stall_to_ns);
}

/* Returns whether an incident follows a moment of a host soon. */
static bool signs_is_followed(const struct signs *signs, uint32_t host, uint64_t at_ns)
{
	const struct common_answer *answer = signs->run->answer;

	for (size_t i = 0; i < answer->cases.count; i++) {
		const struct common_case *of = &answer->cases.items[i];

		if (of->host == host && of->stall_to_ns + FALL_NS >= at_ns &&
		    of->stall_from_ns <= at_ns + VAIN_NS)
			return true;
	}
	return false;
}

static double signs_vain(const struct signs *signs, size_t sign)
{
	size_t vain = 0, known = 0;

	for (size_t i = 0; i < signs->readings.count; i++) {
		const struct signs_reading *reading = &signs->readings.items[i];
		uint64_t at_ns = signs_segment(signs, reading)->end_ns;

		if (isnan(reading->figures[sign]))
			continue;
		known++;
		vain += signs_reaches(&signs->gauges[sign], reading->figures[sign]) &&
			!signs_is_followed(signs, reading->host, at_ns);
	}
	return known ? (double)vain / known : NAN;
}

/* Returns the incidents and controls that were compared for a gauge. */
static const struct common_trait *signs_trait(const struct common_answer *answer, uint32_t name,
					      size_t *ret_trait)
{
	for (size_t i = 0; i < answer->trait_count; i++) {
		const struct common_trait *trait = &answer->traits[i];

		*ret_trait = i + 1;
		if (trait->lead.kind == COMMON_GAUGE && trait->lead.name == name)
			return trait;
		for (size_t j = 0; j < trait->companion_count; j++)
			if (trait->companions[j].kind == COMMON_GAUGE &&
			    trait->companions[j].name == name)
				return trait;
	}
	return NULL;
}

/* Counts the incidents of a trait, or the controls, whose windows reach a level. */
static unsigned int signs_count(const struct signs *signs, const struct common_row *gauge,
				size_t of_trait, bool controls)
{
	const struct common_matrix *matrix = signs->matrix;
	const struct contrast_input *input = &matrix->input;
	const struct common_answer *answer = signs->run->answer;
	unsigned int count = 0;

	for (size_t row = 0; row < input->rows; row++) {
		const char *key = strings_at(&signs->run->keys, matrix->keys[row]);
		const float *values = input->values + row * input->firsts[input->sets];

		if (*key != 'g' || strcmp(key + 1, common_name(answer, gauge->name)) != 0)
			continue;
		for (size_t set = 0; set < input->sets; set++)
			for (uint32_t at = input->firsts[set]; at < input->firsts[set + 1]; at++) {
				bool is_case = at == input->firsts[set];
				size_t trait = answer->cases.items[matrix->cases[set]].trait;

				/* incidents of earlier traits were not compared */
				if (trait && trait < of_trait)
					break;
				count += is_case != controls && signs_reaches(gauge, values[at]);
			}
	}
	return count;
}

/* Sets the lead of a level, and its vain time. Returns -ENOMEM or 0. */
static int signs_try(const struct signs *signs, size_t number, size_t of_trait,
		     struct common_sign *sign)
{
	const struct common_answer *answer = signs->run->answer;
	_cleanup_free_ uint64_t *before = calloc(answer->cases.count + 1, sizeof(*before));
	size_t count = 0;

	if (!before)
		return -ENOMEM;
	sign->at_least = false;
	sign->cases = signs_count(signs, &signs->gauges[number], of_trait, false);
	sign->controls = signs_count(signs, &signs->gauges[number], of_trait, true);
	for (size_t i = 0; i < answer->cases.count; i++) {
		const struct common_case *of = &answer->cases.items[i];
		bool begin;

		if (!of->read || of->trait != of_trait)
			continue;
		before[count++] = signs_before(signs, number, of, &begin);
		sign->at_least = sign->at_least || begin;
	}
	sign->level = signs->gauges[number].level;
	sign->vain = signs_vain(signs, number);
	if (!count)
		return 0;
	qsort(before, count, sizeof(*before), signs_compare);
	sign->before_ns = before[count / 2];
	sign->least_ns = before[0];
	return 0;
}

static int signs_compare_figures(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/*
 * Lists levels between all readings. A control may have the level because an incident follows it
 * hours later, so the level that separates best is not the one that warns earliest.
 */
static int signs_levels(const struct signs *signs, size_t number, double levels[LEVELS])
{
	_cleanup_free_ double *figures = calloc(signs->readings.count + 1, sizeof(*figures));
	size_t count = 0;

	if (!figures)
		return -ENOMEM;
	for (size_t i = 0; i < signs->readings.count; i++)
		if (!isnan(signs->readings.items[i].figures[number]))
			figures[count++] = signs->readings.items[i].figures[number];
	if (count)
		qsort(figures, count, sizeof(*figures), signs_compare_figures);
	for (size_t i = 0; i < LEVELS; i++)
		levels[i] = count ? figures[i * (count - 1) / (LEVELS - 1)] : NAN;
	return 0;
}

/* Looks for the level that warns earliest without being in vain. */
static int signs_choose_level(struct signs *signs, size_t number, size_t of_trait,
			      struct common_sign *sign)
{
	struct common_row *gauge = &signs->gauges[number];
	double levels[LEVELS], vain_most = MAX(VAIN_MOST, sign->vain);
	struct common_sign found = *sign;
	int r = signs_levels(signs, number, levels);

	if (r < 0)
		return r;
	for (size_t i = 0; i < LEVELS; i++) {
		gauge->level = levels[i];
		r = signs_try(signs, number, of_trait, sign);
		if (r < 0)
			return r;
		if (sign->cases >= REACHED_LEAST * found.cases && sign->vain <= vain_most &&
		    sign->before_ns > found.before_ns)
			found = *sign;
	}
	gauge->level = found.level;
	*sign = found;
	return 0;
}

static int signs_set(struct signs *signs, size_t number)
{
	struct common_answer *answer = signs->run->answer;
	const struct common_row *gauge = &signs->gauges[number];
	size_t of_trait = 0;
	const struct common_trait *trait = signs_trait(answer, gauge->name, &of_trait);
	struct common_sign sign = { .gauge = gauge->name,
				    .unit = gauge->unit,
				    .below = gauge->below,
				    .of_cases = trait->of_cases,
				    .of_controls = trait->of_controls };
	int r = signs_try(signs, number, of_trait, &sign);

	if (r < 0)
		return r;
	r = signs_choose_level(signs, number, of_trait, &sign);
	if (r < 0)
		return r;
	answer->signs[answer->sign_count++] = sign;
	return 0;
}

static void signs_done(struct signs *signs)
{
	array_done(&signs->readings);
	array_done(&signs->order);
}

int common_signs_find(struct common_run *run, const struct common_matrix *matrix,
		      struct error *error)
{
	_cleanup_(signs_done) struct signs signs = { .run = run, .matrix = matrix };
	int r = 0;

	signs_add_gauges(&signs);
	if (signs.count)
		r = signs_read(&signs);
	for (size_t i = 0; r == 0 && i < signs.count; i++)
		r = signs_set(&signs, i);
	if (r < 0)
		return r;
	return run->answer->trait_count ? common_full_sign_set(run) : 0;
}
