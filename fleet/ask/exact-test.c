// SPDX-License-Identifier: GPL-2.0-only
#include "fleet/ask/exact-test.h"

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"

/* The logarithm of the number of ways to choose k of n. */
static double exact_test_log_ways(uint64_t n, uint64_t k)
{
	int sign;

	return lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
	       lgamma_r((double)(n - k) + 1, &sign);
}

double exact_test_share(uint64_t hits, uint64_t drawn, uint64_t marked, uint64_t all)
{
	uint64_t most = MIN(drawn, marked);
	double chance = 0;

	if (drawn > all || marked > all || hits > most)
		return 1;
	for (uint64_t k = hits; k <= most; k++)
		/* the unmarked hosts must suffice for the rest */
		if (drawn - k <= all - marked)
			chance += exp(exact_test_log_ways(marked, k) +
				      exact_test_log_ways(all - marked, drawn - k) -
				      exact_test_log_ways(all, drawn));
	return fmin(chance, 1);
}

double exact_test_trials(uint64_t hits, uint64_t trials, double p)
{
	double chance = 0;

	if (!hits || hits > trials || p <= 0 || p >= 1)
		return hits ? 0 : 1;
	for (uint64_t k = hits; k <= trials; k++)
		chance += exp(exact_test_log_ways(trials, k) + (double)k * log(p) +
			      (double)(trials - k) * log1p(-p));
	return fmin(chance, 1);
}

const char *chance_format(double chance, char text[CHANCE_TEXT_SIZE])
{
	if (chance < 1e-9)
		return "<1e-9";
	if (chance >= 0.995)
		return "1";
	snprintf(text, CHANCE_TEXT_SIZE, chance < 0.001 ? "%.0e" : "%.2g", chance);
	return text;
}
