// SPDX-License-Identifier: GPL-2.0-only
/*
 * Incidents may have several causes. The search takes the row that fits best, puts it aside with
 * its incidents, and looks at the others. A row that all incidents share may only be what several
 * causes look like, such as a system call. So two rows that divide the incidents between them come
 * first if fewer controls have them than have the single row.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "query/common/common-internal.h"
#include "query/read/series.h"

#define PERMUTATIONS 999
/* A companion has these incidents in common with the lead: intersection by union. */
#define ALIKE 0.6
/* Companions of one kind. */
#define OF_KIND 2
/* The last function of a path is worth this much more than the first one. */
#define LEAF_MORE 0.1
/* The rows that may be the first of a pair. */
#define PAIRED 24
/* How much a row loses for the time that controls spend in it. */
#define IMPURE 3
/* Two rows together must have this part of the score of one. */
#define PAIR_LEAST 0.9
/* Each of the two must have this part of it. */
#define PART_LEAST 0.2

struct traits {
	struct common_run *run;
	struct common_matrix *matrix;
	/* by set: a trait has it already */
	bool *left_out;
	struct contrast_row *rows;
	/* for each row its score, reduced by the time that controls have in it */
	double *pure;
	/* a row with a higher p-value may be due to chance */
	double chance;
};

static const char *traits_key(const struct traits *traits, size_t row)
{
	return strings_at(&traits->run->keys, traits->matrix->keys[row]);
}

static enum common_kind traits_kind(const struct traits *traits, size_t row)
{
	static const char letters[] = "tofpsgcm";
	const char *found = strchr(letters, *traits_key(traits, row));

	return found ? found - letters : COMMON_MACHINE;
}

static const float *traits_values(const struct traits *traits, size_t row)
{
	const struct contrast_input *input = &traits->matrix->input;

	return input->values + row * input->firsts[input->sets];
}

static bool traits_has(const struct traits *traits, const struct contrast_row *judged, size_t row,
		       size_t set)
{
	return contrast_reaches(judged, traits_values(traits, row)[traits->matrix->firsts[set]]);
}

static int traits_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double traits_median(double *values, size_t count)
{
	if (!count)
		return NAN;
	qsort(values, count, sizeof(*values), traits_compare);
	return values[count / 2];
}

/* Sets the medians of the incidents that have a row, and of the controls. */
static int traits_medians(const struct traits *traits, size_t number, struct common_row *row)
{
	const struct contrast_input *input = &traits->matrix->input;
	const struct contrast_row *judged = &traits->rows[number];
	const float *values = traits_values(traits, number);
	_cleanup_free_ double *now = calloc(input->sets + 1, sizeof(*now));
	_cleanup_free_ double *usual = calloc(input->firsts[input->sets] + 1, sizeof(*usual));
	size_t cases = 0, controls = 0;

	if (!now || !usual)
		return -ENOMEM;
	for (size_t set = 0; set < input->sets; set++) {
		uint32_t at = input->firsts[set];

		if (traits->left_out[set])
			continue;
		if (contrast_reaches(judged, values[at]))
			now[cases++] = values[at];
		while (++at < input->firsts[set + 1])
			usual[controls++] = values[at];
	}
	row->now = traits_median(now, cases);
	row->usual = traits_median(usual, controls);
	return 0;
}

static int traits_describe(const struct traits *traits, size_t number, struct common_row *row)
{
	const struct contrast_row *judged = &traits->rows[number];
	const char *key = traits_key(traits, number);
	int r;

	*row = (struct common_row){
		.kind = traits_kind(traits, number),
		.level = judged->level,
		.below = judged->below,
		.cases = judged->cases,
		.controls = judged->controls,
		.score = judged->score,
		.p = judged->p,
	};
	if (row->kind == COMMON_GAUGE)
		row->unit = series_unit(key + 1);
	r = strings_add(&traits->run->answer->names, key + 1, strlen(key + 1), &row->name);
	return r < 0 ? r : traits_medians(traits, number, row);
}

/* Returns a row's usual time, as a part of its time in the incidents that have it. */
static double traits_impurity(const struct traits *traits, size_t number)
{
	const struct contrast_input *input = &traits->matrix->input;
	const struct contrast_row *judged = &traits->rows[number];
	const float *values = traits_values(traits, number);
	double now = 0, usual = 0;
	size_t cases = 0, controls = 0;

	if (judged->below)
		return 0;
	for (size_t set = 0; set < input->sets; set++)
		for (uint32_t at = input->firsts[set]; at < input->firsts[set + 1]; at++) {
			bool is_case = at == input->firsts[set];

			if (traits->left_out[set])
				continue;
			if (!is_case) {
				usual += values[at];
				controls++;
			} else if (contrast_reaches(judged, values[at])) {
				now += values[at];
				cases++;
			}
		}
	if (!cases || !controls || now <= 0)
		return 1;
	return usual / controls / (now / cases);
}

/* Judges the rows of the sets that are left. */
static int traits_judge(struct traits *traits, unsigned int permutations)
{
	struct contrast_input input = traits->matrix->input;
	int r;

	input.left_out = traits->left_out;
	input.permutations = permutations;
	r = contrast_judge(&input, traits->rows);
	for (size_t i = 0; r == 0 && i < input.rows; i++) {
		double less = 1 - IMPURE * traits_impurity(traits, i);

		traits->pure[i] = traits->rows[i].score * MAX(less, 0.1);
		if (traits_kind(traits, i) >= COMMON_CPU)
			traits->pure[i] /= 10;
	}
	return r;
}

/* Returns the best row, or the number of rows if no row has a score. */
static size_t traits_best(const struct traits *traits)
{
	size_t count = traits->matrix->input.rows, best = count;
	double most = 0;

	for (size_t i = 0; i < count; i++) {
		double score = traits->pure[i];

		/* of rows that are equal, the kind decides */
		score -= traits_kind(traits, i) * 1e-6;
		if (traits->rows[i].p <= traits->chance && score > most) {
			most = score;
			best = i;
		}
	}
	return best;
}

struct traits_rank {
	double score;
	size_t row;
};

static int traits_compare_ranks(const void *a, const void *b)
{
	const struct traits_rank *left = a, *right = b;

	if (left->score != right->score)
		return left->score < right->score ? 1 : -1;
	return (left->row > right->row) - (left->row < right->row);
}

/* Lists the rows with the highest scores. Returns their number. */
static size_t traits_rank_rows(const struct traits *traits, struct traits_rank *ranks)
{
	size_t count = 0;

	for (size_t i = 0; i < traits->matrix->input.rows; i++)
		if (traits->rows[i].p <= traits->chance)
			ranks[count++] = (struct traits_rank){ traits->pure[i], i };
	if (count)
		qsort(ranks, count, sizeof(*ranks), traits_compare_ranks);
	return count;
}

/* Returns whether a row has only a part of the lead's incidents. */
static bool traits_is_part(const struct traits *traits, size_t lead, size_t row)
{
	return traits->rows[row].cases * 4 <= traits->rows[lead].cases * 3 &&
	       traits_kind(traits, row) < COMMON_CPU;
}

/*
 * Finds the score of the best row among the incidents without `first`, of those that have only a
 * part of the lead's incidents. Needs no permutations: the next step tests the row.
 */
static int traits_score_rest(const struct traits *traits, size_t lead, size_t first,
			     double *ret_score)
{
	size_t rows = traits->matrix->input.rows, sets = traits->matrix->input.sets, left = 0;
	_cleanup_free_ struct contrast_row *judged = calloc(rows + 1, sizeof(*judged));
	_cleanup_free_ double *pure = calloc(rows + 1, sizeof(*pure));
	_cleanup_free_ bool *left_out = calloc(sets + 1, sizeof(*left_out));
	struct traits rest = *traits;
	int r = 0;

	if (!judged || !pure || !left_out)
		return -ENOMEM;
	for (size_t set = 0; set < sets; set++) {
		left_out[set] = traits->left_out[set] ||
				traits_has(traits, &traits->rows[first], first, set);
		left += !left_out[set];
	}
	rest.rows = judged;
	rest.pure = pure;
	rest.left_out = left_out;
	*ret_score = 0;
	if (left > 1)
		r = traits_judge(&rest, 0);
	for (size_t i = 0; r == 0 && left > 1 && i < rows; i++)
		if (traits_is_part(traits, lead, i))
			*ret_score = MAX(*ret_score, pure[i]);
	return r;
}

/*
 * Looks for a row that, with another one, explains the incidents better than the best row alone.
 * Considers only rows that fewer incidents have.
 */
static int traits_divide(const struct traits *traits, size_t *lead)
{
	size_t rows = traits->matrix->input.rows, count;
	_cleanup_free_ struct traits_rank *ranks = calloc(rows + 1, sizeof(*ranks));
	double alone = traits->pure[*lead], most = alone * PAIR_LEAST;
	unsigned int tried = 0;
	size_t best = *lead;

	if (!ranks)
		return -ENOMEM;
	count = traits_rank_rows(traits, ranks);
	for (size_t i = 0; i < count && tried < PAIRED; i++) {
		size_t row = ranks[i].row;
		double rest;
		int r;

		if (!traits_is_part(traits, *lead, row))
			continue;
		tried++;
		r = traits_score_rest(traits, *lead, row, &rest);
		if (r < 0)
			return r;
		/* ignore a row whose part of the incidents may be due to chance */
		if (MIN(rest, traits->pure[row]) < PART_LEAST * alone ||
		    traits->pure[row] + rest <= most)
			continue;
		most = traits->pure[row] + rest;
		best = row;
	}
	*lead = best;
	return 0;
}

/* Returns which part of the incidents that have one of two rows have both. */
static double traits_alike(const struct traits *traits, size_t a, size_t b)
{
	size_t both = 0, any = 0;

	for (size_t set = 0; set < traits->matrix->input.sets; set++) {
		bool has_a = traits_has(traits, &traits->rows[a], a, set);
		bool has_b = traits_has(traits, &traits->rows[b], b, set);

		if (traits->left_out[set])
			continue;
		both += has_a && has_b;
		any += has_a || has_b;
	}
	return any ? (double)both / any : 0;
}

/* Returns the best path that the lead's incidents have, or "". */
static const char *traits_path(const struct traits *traits, size_t lead,
			       const struct traits_rank *ranks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (traits_kind(traits, ranks[i].row) == COMMON_PATH &&
		    traits_alike(traits, lead, ranks[i].row) >= ALIKE)
			return traits_key(traits, ranks[i].row);
	return "";
}

/* Raises functions near the end of a path: their callers have the same time and say less. */
static void traits_raise_leaves(const struct traits *traits, size_t lead, struct traits_rank *ranks,
				size_t count)
{
	const char *path = traits_path(traits, lead, ranks, count);

	for (size_t i = 0; i < count && *path; i++) {
		const char *at = traits_kind(traits, ranks[i].row) == COMMON_FUNCTION
					 ? strstr(path, traits_key(traits, ranks[i].row) + 1)
					 : NULL;

		if (at)
			ranks[i].score *= 1 + LEAF_MORE * (at - path) / strlen(path);
	}
	if (count)
		qsort(ranks, count, sizeof(*ranks), traits_compare_ranks);
}

static int traits_add_companions(const struct traits *traits, size_t lead,
				 struct common_trait *trait)
{
	size_t rows = traits->matrix->input.rows, count;
	_cleanup_free_ struct traits_rank *ranks = calloc(rows + 1, sizeof(*ranks));
	unsigned int of_kind[COMMON_KINDS] = { 0 };
	int r = 0;

	if (!ranks)
		return -ENOMEM;
	of_kind[traits_kind(traits, lead)]++;
	count = traits_rank_rows(traits, ranks);
	traits_raise_leaves(traits, lead, ranks, count);
	for (size_t i = 0; r == 0 && i < count && trait->companion_count < COMMON_COMPANIONS; i++) {
		size_t row = ranks[i].row;
		enum common_kind kind = traits_kind(traits, row);

		if (row == lead || of_kind[kind] >= OF_KIND ||
		    traits_alike(traits, lead, row) < ALIKE)
			continue;
		of_kind[kind]++;
		r = traits_describe(traits, row, &trait->companions[trait->companion_count++]);
	}
	return r;
}

/* Puts the incidents of the lead aside. */
static void traits_put_aside(struct traits *traits, size_t lead)
{
	struct common_answer *answer = traits->run->answer;

	for (size_t set = 0; set < traits->matrix->input.sets; set++) {
		if (traits->left_out[set] || !traits_has(traits, &traits->rows[lead], lead, set))
			continue;
		traits->left_out[set] = true;
		answer->cases.items[traits->matrix->cases[set]].trait = answer->trait_count;
	}
}

/* Returns 1 if incidents share a row, 0 if none stands out. */
static int traits_add(struct traits *traits)
{
	struct common_answer *answer = traits->run->answer;
	const struct contrast_input *input = &traits->matrix->input;
	struct common_trait *trait = &answer->traits[answer->trait_count];
	size_t lead;
	int r;

	/* each group that was found is one more try */
	traits->chance = COMMON_ROW_CHANCE / (1 + answer->trait_count);
	r = traits_judge(traits, PERMUTATIONS);
	if (r < 0)
		return r;
	for (size_t i = 0; !answer->trait_count && i < input->rows; i++)
		answer->lowest_p = MIN(answer->lowest_p, traits->rows[i].p);
	lead = traits_best(traits);
	if (lead == input->rows)
		return 0;
	r = traits_divide(traits, &lead);
	if (r < 0)
		return r;
	r = traits_describe(traits, lead, &trait->lead);
	if (r < 0)
		return r;
	r = traits_add_companions(traits, lead, trait);
	if (r < 0)
		return r;
	for (size_t set = 0; set < input->sets; set++)
		if (!traits->left_out[set]) {
			trait->of_cases++;
			trait->of_controls += input->firsts[set + 1] - input->firsts[set] - 1;
		}
	answer->trait_count++;
	traits_put_aside(traits, lead);
	return 1;
}

int common_traits_make(struct common_run *run, struct common_matrix *matrix)
{
	size_t rows = matrix->input.rows, sets = matrix->input.sets;
	struct traits traits = {
		.run = run,
		.matrix = matrix,
		.left_out = calloc(sets + 1, sizeof(bool)),
		.rows = calloc(rows + 1, sizeof(*traits.rows)),
		.pure = calloc(rows + 1, sizeof(*traits.pure)),
	};
	struct common_answer *answer = run->answer;
	int r = traits.left_out && traits.rows && traits.pure ? 1 : -ENOMEM;

	answer->lowest_p = 1;
	answer->rows = rows;
	answer->compared = sets;
	answer->controls = matrix->firsts[sets] - sets;
	while (r == 1 && sets && rows && answer->trait_count < COMMON_TRAITS) {
		size_t left = 0;

		for (size_t set = 0; set < sets; set++)
			left += !traits.left_out[set];
		if (!left)
			break;
		r = traits_add(&traits);
	}
	free(traits.left_out);
	free(traits.rows);
	free(traits.pure);
	return MIN(r, 0);
}
