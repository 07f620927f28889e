// SPDX-License-Identifier: GPL-2.0-only
/*
 * Halves the segments again and again, each time by the figure that differs most, until a half
 * would be too small.
 */
#include "query/common/strata.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"

/* A segment with the figure by which a part is halved. */
struct strata_place {
	double figure;
	/* decides between equal figures, so that a half is not one part of the recording */
	uint64_t chance;
	uint32_t segment;
};

struct strata_parting {
	const struct strata_segment *segments;
	size_t least;
	struct strata *strata;
	struct strata_place *places;
};

static int strata_compare(const void *a, const void *b)
{
	const struct strata_place *left = a, *right = b;

	if (left->figure != right->figure)
		return left->figure < right->figure ? -1 : 1;
	return (left->chance > right->chance) - (left->chance < right->chance);
}

/* Returns a figure of a segment, in what counts as alike. An unknown load is the lowest. */
static double strata_figure(const struct strata_segment *segment, bool by_load)
{
	if (!by_load)
		return segment->hour / STRATA_HOURS_ALIKE;
	return isnan(segment->load) ? -1 : segment->load / STRATA_LOAD_ALIKE;
}

/* Returns how far a figure of the segments in a part is spread. */
static double strata_spread(const struct strata_parting *parting, size_t from, size_t to,
			    bool by_load)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t i = from; i < to; i++) {
		double figure =
			strata_figure(&parting->segments[parting->strata->order[i]], by_load);

		low = fmin(low, figure);
		high = fmax(high, figure);
	}
	return high - low;
}

/* Sorts a part by the figure that differs most in it. */
static void strata_sort(struct strata_parting *parting, size_t from, size_t to)
{
	uint32_t *order = parting->strata->order;
	bool by_load =
		strata_spread(parting, from, to, true) > strata_spread(parting, from, to, false);

	for (size_t i = from; i < to; i++)
		parting->places[i] = (struct strata_place){
			strata_figure(&parting->segments[order[i]], by_load),
			hash_u64(order[i]),
			order[i],
		};
	qsort(parting->places + from, to - from, sizeof(*parting->places), strata_compare);
	for (size_t i = from; i < to; i++)
		order[i] = parting->places[i].segment;
}

/* Halves a part, or makes it a stratum. The depth is at most the logarithm of the count. */
static void strata_part(struct strata_parting *parting, size_t from, size_t to)
{
	struct strata *strata = parting->strata;
	size_t middle = from + (to - from) / 2;

	if (to - from >= 2 * parting->least) {
		strata_sort(parting, from, to);
		strata_part(parting, from, middle);
		strata_part(parting, middle, to);
		return;
	}
	strata->firsts[strata->count] = from;
	for (size_t i = from; i < to; i++)
		strata->of[strata->order[i]] = strata->count;
	strata->firsts[++strata->count] = to;
}

int strata_make(const struct strata_segment *segments, size_t count, size_t least,
		struct strata *strata)
{
	_cleanup_free_ struct strata_place *places = calloc(count + 1, sizeof(*places));
	struct strata_parting parting = { segments, least ? least : 1, strata, places };

	*strata = (struct strata){
		.order = calloc(count + 1, sizeof(*strata->order)),
		.firsts = calloc(count + 2, sizeof(*strata->firsts)),
		.of = calloc(count + 1, sizeof(*strata->of)),
	};
	if (!places || !strata->order || !strata->firsts || !strata->of)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		strata->order[i] = i;
	strata_part(&parting, 0, count);
	return 0;
}

void strata_done(struct strata *strata)
{
	free(strata->order);
	free(strata->firsts);
	free(strata->of);
	*strata = (struct strata){ 0 };
}
