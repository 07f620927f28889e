// SPDX-License-Identifier: GPL-2.0-only
#include "query/explain/chance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Scores that differ by less are equal; they differ only by rounding. */
#define EQUAL 1e-9

struct chance_scale {
	double mean, deviation;
};

static struct chance_scale chance_scale_of(const struct chance_input *input, size_t row)
{
	const double *values = input->values + row * input->windows;
	double sum = 0, squares = 0, mean;

	for (size_t i = 0; i < input->windows; i++)
		sum += values[i];
	mean = sum / input->windows;
	for (size_t i = 0; i < input->windows; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return (struct chance_scale){ mean, sqrt(squares / input->windows +
						 input->floor * input->floor) };
}

double chance_of_rank(unsigned int windows, unsigned int as_much)
{
	return (as_much + 1.0) / (windows + 1.0);
}

static struct evidence_chance chance_of_score(const struct chance_input *input, const double *most,
					      double score)
{
	struct evidence_chance chance = { .windows = input->windows - 1, .tried = input->rows };

	for (size_t i = 1; i < input->windows; i++)
		chance.as_much += most[i] >= score - EQUAL;
	chance.p = chance_of_rank(chance.windows, chance.as_much);
	return chance;
}

int chance_judge(const struct chance_input *input, struct evidence_chance *ret_chances)
{
	_cleanup_free_ double *most = NULL, *scores = NULL;

	if (!input->rows || !input->windows)
		return 0;
	most = calloc(input->windows, sizeof(*most));
	scores = calloc(input->rows, sizeof(*scores));
	if (!most || !scores)
		return -ENOMEM;
	for (size_t row = 0; row < input->rows; row++) {
		struct chance_scale scale = chance_scale_of(input, row);

		for (size_t i = 0; i < input->windows; i++) {
			double value = input->values[row * input->windows + i];
			double score = (value - scale.mean) / scale.deviation;

			most[i] = MAX(most[i], score);
			scores[row] = i ? scores[row] : score;
		}
	}
	for (size_t row = 0; row < input->rows; row++)
		ret_chances[row] = chance_of_score(input, most, scores[row]);
	return 0;
}
