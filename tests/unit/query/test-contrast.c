// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simulates studies without any difference and studies with one, and checks the error rates that
 * docs/EXPLAIN.md states.
 */
#include <stdlib.h>

#include "query/common/contrast.h"
#include "tests/check.h"
#include "tests/random.h"

#define SETS 20
#define EACH 6
#define WINDOWS (SETS * EACH)
#define ROWS 24
#define STUDIES 200

struct simulation {
	uint32_t firsts[SETS + 1];
	float values[ROWS * WINDOWS];
	float least[ROWS];
	bool both[ROWS];
	struct contrast_row rows[ROWS];
};

/*
 * Rows depend on each other: half of them follow the row before. Some have long tails, some are
 * mostly 0, and windows of one set are alike.
 */
static void simulate(struct simulation *simulation)
{
	for (size_t set = 0; set <= SETS; set++)
		simulation->firsts[set] = set * EACH;
	for (size_t row = 0; row < ROWS; row++) {
		simulation->least[row] = 0.05f;
		simulation->both[row] = row % 5 == 0;
		for (size_t window = 0; window < WINDOWS; window++) {
			float value = random_below(1000) / 1000.0f;

			if (row % 3 == 0)
				value = value < 0.7f ? 0 : value * value * 10;
			if (row % 2)
				value = simulation->values[(row - 1) * WINDOWS + window] +
					value / 10;
			simulation->values[row * WINDOWS + window] = value + window / EACH % 4;
		}
	}
}

static void judge(struct simulation *simulation, const bool *left_out)
{
	const struct contrast_input input = {
		.rows = ROWS,
		.sets = SETS,
		.firsts = simulation->firsts,
		.values = simulation->values,
		.least = simulation->least,
		.both = simulation->both,
		.left_out = left_out,
		.permutations = 199,
	};

	CHECK_EQ(contrast_judge(&input, simulation->rows), 0);
}

static double lowest_p(const struct simulation *simulation)
{
	double lowest = 1;

	for (size_t row = 0; row < ROWS; row++)
		lowest = simulation->rows[row].p < lowest ? simulation->rows[row].p : lowest;
	return lowest;
}

/* 10 of 200 studies without a difference should have p <= 0.05; more than 20 rarely do. */
static void test_no_difference(void)
{
	static struct simulation simulation;
	unsigned int claimed = 0;

	random_state = 42;
	for (unsigned int study = 0; study < STUDIES; study++) {
		simulate(&simulation);
		judge(&simulation, NULL);
		claimed += lowest_p(&simulation) <= 0.05;
	}
	printf("# %u of %u claimed\n", claimed, STUDIES);
	CHECK(claimed <= 20);
	/* a test that never claims anything has no power */
	CHECK(claimed >= 2);
}

/* Plants a difference in some sets. */
static void plant(struct simulation *simulation, size_t row, size_t from, size_t to)
{
	for (size_t set = from; set < to; set++)
		simulation->values[row * WINDOWS + set * EACH] += 20;
}

static size_t best_row(const struct simulation *simulation)
{
	size_t best = 0;

	for (size_t row = 1; row < ROWS; row++)
		if (simulation->rows[row].score > simulation->rows[best].score)
			best = row;
	return best;
}

static void test_difference(void)
{
	static struct simulation simulation;

	random_state = 43;
	for (unsigned int study = 0; study < 20; study++) {
		simulate(&simulation);
		plant(&simulation, 2, 0, SETS / 2);
		judge(&simulation, NULL);
		CHECK_EQ(best_row(&simulation), 2);
		CHECK(simulation.rows[2].cases >= SETS / 2);
		CHECK(simulation.rows[2].controls <= 1);
		CHECK(simulation.rows[2].p <= 0.05);
	}
}

/* Sets that are left out do not count. */
static void test_left_out(void)
{
	static struct simulation simulation;
	bool left_out[SETS] = { 0 };

	random_state = 44;
	simulate(&simulation);
	plant(&simulation, 2, 0, SETS / 2);
	plant(&simulation, 4, SETS / 2, SETS);
	for (size_t set = 0; set < SETS / 2; set++)
		left_out[set] = true;
	judge(&simulation, left_out);
	CHECK_EQ(best_row(&simulation), 4);
	CHECK_EQ(simulation.rows[4].cases, SETS / 2);
	CHECK_EQ(simulation.rows[4].controls, 0);
	CHECK(simulation.rows[2].score < simulation.rows[4].score / 2);
}

/* A figure that drops before incidents counts where low values do. */
static void test_below(void)
{
	static struct simulation simulation;

	random_state = 45;
	simulate(&simulation);
	plant(&simulation, 5, 0, SETS);
	for (size_t window = 0; window < WINDOWS; window++)
		simulation.values[5 * WINDOWS + window] *= -1;
	judge(&simulation, NULL);
	CHECK_EQ(best_row(&simulation), 5);
	CHECK(simulation.rows[5].below);
	CHECK_EQ(simulation.rows[5].cases, SETS);
}

CHECK_MAIN({ "the stated rate of false claims holds", test_no_difference },
	   { "a difference in half of the sets is found", test_difference },
	   { "sets that are left out", test_left_out }, { "low values", test_below })
