/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/* Chances of counts, computed exactly: a fleet may be small, and incidents are rare. */

#include <stdint.h>

/*
 * Fisher's exact test, one-sided: the chance that at least `hits` of `drawn` hosts are marked, if
 * `marked` of `all` hosts are and chance draws. 1 for numbers that contradict each other.
 */
double exact_test_share(uint64_t hits, uint64_t drawn, uint64_t marked, uint64_t all);

/* The chance of at least `hits` of `trials` successes, each with the chance `p`. */
double exact_test_trials(uint64_t hits, uint64_t trials, double p);

#define CHANCE_TEXT_SIZE 24
/* Below this chance, an answer calls a difference more than chance. */
#define CHANCE_CLEAR 0.01
/* Formats a chance that allows for `tries` comparisons: "<1e-9", "3e-5", "0.04", "1". */
const char *chance_format(double chance, char text[CHANCE_TEXT_SIZE]);
