// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each level is a set of bits, one for each window. The expectation of a level does not depend on
 * the permutation, so a permutation costs a count of common bits for each level.
 */
#include "query/common/contrast.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

/*
 * The number of windows that reach a level, for each level of a row, as multiples of the number of
 * sets.
 */
static const double parts[] = { 0.25, 0.4, 0.55, 0.7, 0.85, 1, 1.2, 1.5, 2, 3 };
/* A level that fewer windows reach is not shared. */
#define REACH_LEAST 2
/* A level that more windows reach is usual. */
#define REACH_MOST 0.6
/* Where the values of a row have their widest gap, a level separates best. */
#define GAP_PART 3

struct contrast_level {
	uint32_t row;
	float level;
	bool below;
	unsigned int reach;
	/* the index of its first word in `bits` */
	size_t bits;
	/* how many incidents the sets let expect, and logarithms of it and of the rest */
	double expected, log_expected, log_rest;
};

struct contrast {
	const struct contrast_input *input;
	size_t windows, words, sets;
	array_of(struct contrast_level) levels;
	array_of(uint64_t) bits;
	/* for each number of sets: the number times its logarithm */
	double *terms;
	/* the windows of incidents, as bits */
	uint64_t *cases;
	/* sorted values of one row */
	float *sorted;
	size_t count;
};

static void contrast_done(struct contrast *contrast)
{
	array_done(&contrast->levels);
	array_done(&contrast->bits);
	free(contrast->terms);
	free(contrast->cases);
	free(contrast->sorted);
}

static bool contrast_takes_part(const struct contrast_input *input, size_t set)
{
	return !input->left_out || !input->left_out[set];
}

static int contrast_compare_down(const void *a, const void *b)
{
	float left = *(const float *)a, right = *(const float *)b;

	return (left < right) - (left > right);
}

static void contrast_sort(struct contrast *contrast, uint32_t row, bool below)
{
	const struct contrast_input *input = contrast->input;
	const float *values = input->values + row * contrast->windows;

	contrast->count = 0;
	for (size_t set = 0; set < input->sets; set++)
		for (uint32_t i = input->firsts[set]; i < input->firsts[set + 1]; i++)
			if (contrast_takes_part(input, set))
				contrast->sorted[contrast->count++] =
					below ? -values[i] : values[i];
	qsort(contrast->sorted, contrast->count, sizeof(float), contrast_compare_down);
}

/*
 * Returns the score of a level that `cases` incidents reach. Without a cause, each incident would
 * reach the level with the mean chance of its set. The score is the sum of had * log(had /
 * expected) over incidents that reach the level, and those that do not.
 */
static double contrast_score(const struct contrast *contrast, const struct contrast_level *level,
			     unsigned int cases)
{
	unsigned int rest = contrast->sets - cases;

	if (cases <= level->expected)
		return 0;
	return contrast->terms[cases] - cases * level->log_expected + contrast->terms[rest] -
	       rest * level->log_rest;
}

/* Sets the bits of a level. Returns the expected number of incidents that reach it. */
static double contrast_fill(const struct contrast *contrast, const struct contrast_level *level,
			    uint64_t *bits)
{
	const struct contrast_input *input = contrast->input;
	const float *values = input->values + level->row * contrast->windows;
	const struct contrast_row row = { .level = level->level, .below = level->below };
	double expected = 0;

	for (size_t set = 0; set < input->sets; set++) {
		uint32_t from = input->firsts[set], to = input->firsts[set + 1], reach = 0;

		for (uint32_t i = from; contrast_takes_part(input, set) && i < to; i++)
			if (contrast_reaches(&row, values[i])) {
				bits[i / 64] |= 1ull << i % 64;
				reach++;
			}
		if (to > from)
			expected += (double)reach / (to - from);
	}
	return expected;
}

static int contrast_add_level(struct contrast *contrast, uint32_t row, bool below, size_t reach)
{
	const float *sorted = contrast->sorted;
	struct contrast_level level = {
		.row = row, .below = below, .reach = reach, .bits = contrast->bits.count
	};

	level.level = reach < contrast->count ? (sorted[reach - 1] + sorted[reach]) / 2
					      : sorted[reach - 1];
	/* the middle of two neighbours may be rounded to the lower one */
	if (reach < contrast->count && !(level.level > sorted[reach]))
		level.level = sorted[reach - 1];
	if (!below && level.level < contrast->input->least[row])
		level.level = contrast->input->least[row];
	if (below)
		level.level = -level.level;
	for (size_t i = 0; i < contrast->words; i++)
		if (array_push(&contrast->bits, 0) < 0)
			return -ENOMEM;
	level.expected = contrast_fill(contrast, &level, contrast->bits.items + level.bits);
	level.log_expected = log(level.expected);
	level.log_rest = level.expected < contrast->sets ? log(contrast->sets - level.expected) : 0;
	return array_push(&contrast->levels, level);
}

/* Returns the number of values that equal or exceed the value at a place. */
static size_t contrast_reach(const struct contrast *contrast, size_t place)
{
	while (place < contrast->count && contrast->sorted[place] == contrast->sorted[place - 1])
		place++;
	return place;
}

/* Returns the place behind which the values drop most, relative to the value. */
static size_t contrast_gap(const struct contrast *contrast, float least)
{
	size_t most = contrast->sets * GAP_PART, found = 0;
	double widest = 0;

	for (size_t i = REACH_LEAST; i < contrast->count && i <= most; i++) {
		double drop = contrast->sorted[i - 1] - contrast->sorted[i];

		if (contrast->sorted[i - 1] < least)
			break;
		drop /= fabs(contrast->sorted[i]) + fabs(least) + 1e-9;
		if (drop > widest) {
			widest = drop;
			found = i;
		}
	}
	return found;
}

static int contrast_add_side(struct contrast *contrast, uint32_t row, bool below)
{
	float least = below ? -INFINITY : contrast->input->least[row];
	size_t gap, last = 0;
	int r = 0;

	contrast_sort(contrast, row, below);
	gap = contrast_gap(contrast, below ? 0 : least);
	if (gap && gap <= REACH_MOST * contrast->count)
		r = contrast_add_level(contrast, row, below, gap);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
		size_t place = lround(parts[i] * contrast->sets), reach;

		if (place < REACH_LEAST || place > contrast->count ||
		    contrast->sorted[place - 1] < least)
			continue;
		reach = contrast_reach(contrast, place);
		if (reach == last || reach == gap || reach > REACH_MOST * contrast->count)
			continue;
		last = reach;
		r = contrast_add_level(contrast, row, below, reach);
	}
	return r;
}

static int contrast_add_rows(struct contrast *contrast)
{
	int r = 0;

	for (uint32_t row = 0; r == 0 && row < contrast->input->rows; row++) {
		r = contrast_add_side(contrast, row, false);
		if (r < 0)
			return r;
		if (contrast->input->both[row])
			r = contrast_add_side(contrast, row, true);
	}
	return r;
}

static unsigned int contrast_count(const struct contrast *contrast,
				   const struct contrast_level *level)
{
	const uint64_t *bits = contrast->bits.items + level->bits;
	unsigned int count = 0;

	for (size_t i = 0; i < contrast->words; i++)
		count += __builtin_popcountll(bits[i] & contrast->cases[i]);
	return count;
}

static void contrast_mark(struct contrast *contrast, uint64_t *state)
{
	const struct contrast_input *input = contrast->input;

	memset(contrast->cases, 0, contrast->words * sizeof(*contrast->cases));
	for (size_t set = 0; set < input->sets; set++) {
		uint32_t at = input->firsts[set], size = input->firsts[set + 1] - at;

		if (!contrast_takes_part(input, set) || !size)
			continue;
		if (state)
			at += hash_u64(++*state) % size;
		contrast->cases[at / 64] |= 1ull << at % 64;
	}
}

static void contrast_observe(struct contrast *contrast, struct contrast_row *rows)
{
	for (size_t i = 0; i < contrast->input->rows; i++)
		rows[i] = (struct contrast_row){ .p = 1 };
	contrast_mark(contrast, NULL);
	for (size_t i = 0; i < contrast->levels.count; i++) {
		const struct contrast_level *level = &contrast->levels.items[i];
		unsigned int cases = contrast_count(contrast, level), reach = 0;
		struct contrast_row *row = &rows[level->row];
		double score = contrast_score(contrast, level, cases);

		if (score <= row->score)
			continue;
		for (size_t word = 0; word < contrast->words; word++)
			reach += __builtin_popcountll(contrast->bits.items[level->bits + word]);
		*row = (struct contrast_row){ level->level, cases, reach - cases,
					      level->below, score, 1 };
	}
}

static double contrast_highest(const struct contrast *contrast)
{
	double highest = 0;

	for (size_t i = 0; i < contrast->levels.count; i++) {
		const struct contrast_level *level = &contrast->levels.items[i];
		double score = contrast_score(contrast, level, contrast_count(contrast, level));

		if (score > highest)
			highest = score;
	}
	return highest;
}

/* Sets the p-values, from the highest scores of the permutations. */
static int contrast_permute(struct contrast *contrast, struct contrast_row *rows)
{
	unsigned int permutations = contrast->input->permutations;
	_cleanup_free_ double *highest = calloc((size_t)permutations + 1, sizeof(*highest));
	uint64_t state = 0;

	if (!highest)
		return -ENOMEM;
	for (unsigned int i = 0; i < permutations; i++) {
		contrast_mark(contrast, &state);
		highest[i] = contrast_highest(contrast);
	}
	for (size_t row = 0; row < contrast->input->rows; row++) {
		unsigned int as_high = 0;

		if (rows[row].score <= 0)
			continue;
		for (unsigned int i = 0; i < permutations; i++)
			as_high += highest[i] >= rows[row].score - 1e-6;
		rows[row].p = (1.0 + as_high) / (1 + permutations);
	}
	return 0;
}

int contrast_judge(const struct contrast_input *input, struct contrast_row *ret_rows)
{
	_cleanup_(contrast_done) struct contrast contrast = {
		.input = input,
		.windows = input->firsts[input->sets],
	};
	int r = -ENOMEM;

	for (size_t set = 0; set < input->sets; set++)
		contrast.sets += contrast_takes_part(input, set);
	contrast.words = (contrast.windows + 63) / 64;
	contrast.cases = calloc(contrast.words + 1, sizeof(*contrast.cases));
	contrast.sorted = calloc(contrast.windows + 1, sizeof(*contrast.sorted));
	contrast.terms = calloc(contrast.sets + 1, sizeof(*contrast.terms));
	if (contrast.cases && contrast.sorted && contrast.terms) {
		for (size_t i = 1; i <= contrast.sets; i++)
			contrast.terms[i] = i * log(i);
		r = contrast_add_rows(&contrast);
	}
	if (r < 0)
		return r;
	contrast_observe(&contrast, ret_rows);
	if (input->permutations)
		r = contrast_permute(&contrast, ret_rows);
	return r;
}
