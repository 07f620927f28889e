// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples are in the order of the perf clock. While the wall clock rises, the samples of an
 * interval follow each other, and bisection finds the end of each.
 */
#include "tape/digest-intervals.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "tape/clocks.h"
#include "tape/spread.h"

/*
 * An interval has at least about this many samples, so that its sums need less space than its
 * samples.
 */
#define SAMPLES_LEAST 16384
/* Limits the cells per sample. A tape whose clock jumps to and fro would exceed this limit. */
#define CELLS_A_SAMPLE 4

/* With fewer samples, a run does not pay for clearing and emptying the sums of its fractions. */
#define SUMMED_LEAST 4096

/*
 * The samples of a run that begin in one fraction, of one part and length in fractions. All samples
 * last equally long, so their number and the sum of their begins suffice to spread them.
 */
struct begun {
	uint64_t count;
	/* within the second */
	uint64_t sum_us;
};

/* A stretch of samples in one interval. */
struct run {
	uint64_t interval;
	size_t from, to;
};

struct digest_intervals {
	const struct tape *tape;
	struct digest *digest;
	uint64_t sample_ns;
	uint64_t interval_ns;
	array_of(struct run) runs;
	/* The run of the next sample. */
	size_t current;
	/* Indexed by run: the index of its interval. */
	array_of(uint32_t) indexes;
	/* Indexed by CPU number: the index of the CPU in the digest. */
	uint32_t *cpu_indexes;
	/*
	 * By fraction, by whether the sample touches `near` or one more of the fractions behind it,
	 * and by part.
	 */
	struct begun begun[SPREAD_FRACTIONS][2][SPREAD_PARTS];
	uint64_t period_us;
	uint32_t near;
};

/* Returns the shortest usual length with enough samples. */
static uint64_t interval_length(const struct tape *tape)
{
	static const uint32_t lengths_s[] = { 10, 20, 30, 60, 120, 300, 600, 1800, 3600 };
	uint64_t length_ns = MAX(tape->end_ns - tape->begin_ns, 1ull);
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(lengths_s) &&
	       (double)tape->samples.count * (double)(lengths_s[i] * NSEC_PER_SEC) <
		       (double)SAMPLES_LEAST * (double)length_ns)
		i++;
	return lengths_s[i] * NSEC_PER_SEC;
}

static uint64_t interval_of(const struct digest_intervals *maker, size_t sample)
{
	return tape_to_realtime(maker->tape, maker->tape->samples.items[sample].time_ns, NULL) /
	       maker->interval_ns;
}

/* Returns the end of the samples that are in one interval, given that the wall clock rises. */
static size_t digest_run_end(const struct digest_intervals *maker, size_t from, uint64_t interval)
{
	size_t low = from + 1, high = maker->tape->samples.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (interval_of(maker, middle) == interval)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int digest_find_runs(struct digest_intervals *maker)
{
	bool rises = clocks_wall_rises(maker->tape);
	struct run run = { 0 };

	for (; run.from < maker->tape->samples.count; run.from = run.to) {
		run.interval = interval_of(maker, run.from);
		run.to = rises ? digest_run_end(maker, run.from, run.interval) : run.from + 1;
		if (array_push(&maker->runs, run) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int digest_compare_intervals(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Lists the intervals once each, and finds the index of each run's interval. */
static int list_intervals(struct digest_intervals *maker)
{
	struct digest *digest = maker->digest;
	size_t kept = 0;

	digest->intervals.count = 0;
	if (array_reserve(&maker->indexes, maker->runs.count + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < maker->runs.count; i++)
		if (array_push(&digest->intervals, maker->runs.items[i].interval) < 0)
			return -ENOMEM;
	qsort(digest->intervals.items, digest->intervals.count, sizeof(uint64_t),
	      digest_compare_intervals);
	for (size_t i = 0; i < digest->intervals.count; i++)
		if (!kept || digest->intervals.items[kept - 1] != digest->intervals.items[i])
			digest->intervals.items[kept++] = digest->intervals.items[i];
	digest->intervals.count = kept;
	for (size_t i = 0; i < maker->runs.count; i++) {
		const uint64_t *found =
			bsearch(&maker->runs.items[i].interval, digest->intervals.items, kept,
				sizeof(uint64_t), digest_compare_intervals);

		maker->indexes.items[i] = found - digest->intervals.items;
	}
	return 0;
}

static int clear_numbers(struct digest_intervals *maker, uint32_t spill)
{
	struct digest *digest = maker->digest;
	size_t cells = digest->intervals.count * digest->cpus.count;
	size_t spread =
		spill ? digest->intervals.count * (SPREAD_FRACTIONS + 2 * spill) * SPREAD_PARTS : 0;

	if (array_reserve(&digest->cells, cells + 1) < 0 ||
	    array_reserve(&digest->spread, spread + 1) < 0)
		return -ENOMEM;
	memset(digest->cells.items, 0, cells * sizeof(*digest->cells.items));
	memset(digest->spread.items, 0, spread * sizeof(*digest->spread.items));
	digest->cells.count = cells;
	digest->spread.count = spread;
	digest->spill = spill;
	return 0;
}

/* Spreads a sample of an interval that begins at begin_us over the numbers of that interval. */
static void spread_sample(const struct digest_intervals *maker, uint64_t *numbers,
			  uint64_t begin_us, struct spread_span span, unsigned int part)
{
	uint32_t spill = maker->digest->spill;
	uint64_t end_us = begin_us + maker->interval_ns / 1000, to_us = span.to_us;

	for (uint64_t us = span.from_us; us < to_us;) {
		struct spread_piece piece = spread_first(us, to_us, SPREAD_FRACTIONS);
		uint32_t at = us < begin_us ? piece.fraction - (SPREAD_FRACTIONS - spill)
			      : us < end_us ? spill + piece.fraction
					    : spill + SPREAD_FRACTIONS + piece.fraction;

		numbers[SPREAD_PARTS * at + part] += piece.to_us - piece.from_us;
		us = piece.to_us;
	}
}

static uint32_t digest_fraction(uint64_t us)
{
	return us * SPREAD_FRACTIONS / SPREAD_SECOND_US;
}

/* Returns the begin of a fraction, which may be one of the next second. */
static uint64_t digest_fraction_begin(uint32_t fraction)
{
	return (fraction * SPREAD_SECOND_US + SPREAD_FRACTIONS - 1) / SPREAD_FRACTIONS;
}

/* Notes a sample that lies within its interval. */
static void digest_begin_sample(struct digest_intervals *maker, uint64_t from_us, unsigned int part)
{
	uint64_t us = from_us % SPREAD_SECOND_US;
	uint32_t first = digest_fraction(us), last = digest_fraction(us + maker->period_us - 1);
	struct begun *begun = &maker->begun[first][last - first - maker->near][part];

	begun->count++;
	begun->sum_us += us;
}

/* Spreads samples that begin in one fraction and end in another one, or in the same. */
static void digest_spread_begun(const struct digest_intervals *maker, uint64_t *numbers,
				const struct begun *begun, uint32_t first, uint32_t last,
				unsigned int part)
{
	uint64_t ends_us = begun->sum_us + begun->count * maker->period_us;

	for (uint32_t at = first; at <= last; at++) {
		uint64_t *number = &numbers[SPREAD_PARTS * (at % SPREAD_FRACTIONS) + part];
		uint64_t begins_us =
			at == first ? begun->sum_us : begun->count * digest_fraction_begin(at);

		*number += (at == last ? ends_us : begun->count * digest_fraction_begin(at + 1)) -
			   begins_us;
	}
}

/* Empties the sums into the numbers of an interval. */
static void digest_empty_begun(struct digest_intervals *maker, uint64_t *numbers)
{
	uint64_t *seconds = numbers + SPREAD_PARTS * maker->digest->spill;

	for (uint32_t first = 0; first < SPREAD_FRACTIONS; first++)
		for (uint32_t more = 0; more < 2; more++)
			for (unsigned int part = 0; part < SPREAD_PARTS; part++)
				digest_spread_begun(maker, seconds,
						    &maker->begun[first][more][part], first,
						    first + maker->near + more, part);
	memset(maker->begun, 0, sizeof(maker->begun));
}

static bool digest_run_is_summed(const struct digest_intervals *maker, const struct run *run)
{
	return maker->digest->spill && run->to - run->from >= SUMMED_LEAST;
}

/* Adds the samples of the current run from `first` to `end`. */
static void digest_add_to_run(struct digest_intervals *maker, size_t first, size_t end,
			      const uint8_t *kinds)
{
	struct digest *digest = maker->digest;
	const struct run *run = &maker->runs.items[maker->current];
	size_t index = maker->indexes.items[maker->current];
	struct digest_cell *cells = digest->cells.items + index * digest->cpus.count;
	size_t width = (SPREAD_FRACTIONS + 2 * digest->spill) * SPREAD_PARTS;
	uint64_t begin_us = run->interval * (maker->interval_ns / 1000);
	uint64_t end_us = begin_us + maker->interval_ns / 1000;
	bool summed = digest_run_is_summed(maker, run);

	for (size_t i = first; i < end; i++) {
		const struct tape_sample *sample = &maker->tape->samples.items[i];
		uint8_t kind = kinds[i - first];
		struct spread_span span;

		if (sample->cpu < TAPE_CPUS_MAX)
			cells[maker->cpu_indexes[sample->cpu]].n[kind]++;
		if (!digest->spill || kind == STACK_CLASS_IDLE)
			continue;
		span = spread_span(tape_to_realtime(maker->tape, sample->time_ns, NULL),
				   maker->sample_ns);
		if (summed && span.from_us >= begin_us && span.to_us <= end_us)
			digest_begin_sample(maker, span.from_us, kind - STACK_CLASS_USER);
		else
			spread_sample(maker, digest->spread.items + index * width, begin_us, span,
				      kind - STACK_CLASS_USER);
	}
	if (summed && end == run->to)
		digest_empty_begun(maker, digest->spread.items + index * width);
}

void digest_intervals_add(struct digest_intervals *maker, size_t first, size_t end,
			  const uint8_t *kinds)
{
	while (first < end) {
		size_t run_end = maker->runs.items[maker->current].to, to = MIN(end, run_end);

		digest_add_to_run(maker, first, to, kinds);
		maker->current += to == run_end;
		kinds += to - first;
		first = to;
	}
}

static int digest_number_cpus(struct digest_intervals *maker)
{
	const struct digest *digest = maker->digest;

	maker->cpu_indexes = malloc(TAPE_CPUS_MAX * sizeof(*maker->cpu_indexes));
	if (!maker->cpu_indexes)
		return -ENOMEM;
	for (size_t i = 0; i < digest->cpus.count; i++)
		maker->cpu_indexes[digest->cpus.items[i]] = i;
	return 0;
}

/* Returns 1, 0 if intervals cannot represent the tape, or -ENOMEM. */
static int digest_intervals_begin(struct digest_intervals *maker)
{
	struct digest *digest = maker->digest;
	uint32_t spill = digest->samples < SAMPLES_LEAST ? 0 : spread_spill(maker->sample_ns);
	int r = digest_find_runs(maker);

	if (r < 0)
		return r;
	r = list_intervals(maker);
	if (r < 0)
		return r;
	if (digest->intervals.count * digest->cpus.count >
	    SAMPLES_LEAST + CELLS_A_SAMPLE * digest->samples)
		return 0;
	digest->interval_ns = maker->interval_ns;
	r = clear_numbers(maker, spill);
	maker->period_us = (maker->sample_ns + 500) / 1000;
	maker->near = digest->spill ? digest_fraction(maker->period_us - 1) : 0;
	if (r < 0)
		return r;
	r = digest_number_cpus(maker);
	return r < 0 ? r : 1;
}

int digest_intervals_new(const struct tape *tape, struct digest *digest,
			 struct digest_intervals **ret_intervals)
{
	struct digest_intervals *maker = calloc(1, sizeof(*maker));
	int r;

	if (!maker)
		return -ENOMEM;
	maker->tape = tape;
	maker->digest = digest;
	maker->interval_ns = interval_length(tape);
	maker->sample_ns = stack_class_sample_ns(tape, digest->samples);
	r = digest_intervals_begin(maker);
	if (r <= 0) {
		digest_intervals_free(maker);
		return r;
	}
	*ret_intervals = maker;
	return 0;
}

struct digest_intervals *digest_intervals_free(struct digest_intervals *maker)
{
	if (!maker)
		return NULL;
	array_done(&maker->runs);
	array_done(&maker->indexes);
	free(maker->cpu_indexes);
	free(maker);
	return NULL;
}
